/** An upstream that counts every write by its id, and holds any call in the middle until it is told to go on. */

import type { Upstream, UpstreamOptions } from '../upstreams/scripted-upstream.ts'
import {
  type ScriptedTool,
  startUpstream,
  type ToolCall,
  text,
} from '../upstreams/scripted-upstream.ts'

export interface CountedUpstream {
  readonly upstream: Upstream
  readonly url: string
  /** How often the write with that id took effect. */
  effects(id: string): number
  /** Ids of every write that took effect. */
  written(): string[]
  /** Resolves when the call with that id has come in (a write: has taken effect). */
  began(id: string): Promise<void>
  /** Lets a call that was sent with `hold` be answered. */
  release(id: string): void
  close(): Promise<void>
}

interface CountedUpstreamOptions extends Pick<UpstreamOptions, 'era' | 'port'> {
  /** Called at the moment a write takes effect. */
  readonly effect?: (id: string, call: ToolCall) => void
}

interface Signal {
  readonly raised: Promise<void>
  raise(): void
}

const schema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    ms: { type: 'integer', minimum: 0 },
    hold: { type: 'boolean' },
    fail: { type: 'boolean' },
  },
  required: ['id'],
  additionalProperties: false,
}

/** Tools: `look` reads, `store` writes. Both take `{id, ms?, hold?, fail?}`; the effect comes before the wait. */
export async function startCountedUpstream({
  effect,
  ...options
}: CountedUpstreamOptions = {}): Promise<CountedUpstream> {
  const effects = new Map<string, number>()
  const begun = signals()
  const released = signals()
  const run = async ({ arguments: given }: ToolCall) => {
    const { id, ms = 0, hold, fail } = given as Readonly<{ id: string }> & Record<string, unknown>
    begun(id).raise()
    if (hold === true) await released(id).raised
    else if (ms !== 0) await new Promise((resolve) => setTimeout(resolve, Number(ms)))
    return text(
      fail === true ? 'That could not be done.' : 'done',
      fail === true ? { isError: true } : {},
    )
  }
  const tools: ScriptedTool[] = [
    { name: 'look', description: 'Looks.', inputSchema: schema, run },
    {
      name: 'store',
      description: 'Stores.',
      inputSchema: schema,
      run: (call) => {
        const id = String(call.arguments['id'])
        effect?.(id, call)
        effects.set(id, (effects.get(id) ?? 0) + 1)
        return run(call)
      },
    },
  ]
  const upstream = await startUpstream({ ...options, tools })
  return {
    upstream,
    url: upstream.url,
    effects: (id) => effects.get(id) ?? 0,
    written: () => [...effects.keys()],
    began: (id) => begun(id).raised,
    release: (id) => released(id).raise(),
    close: () => upstream.close(),
  }
}

function signals(): (id: string) => Signal {
  const known = new Map<string, Signal>()
  return (id) => {
    const found = known.get(id) ?? signal()
    known.set(id, found)
    return found
  }
}

function signal(): Signal {
  let raise = (): void => {}
  const raised = new Promise<void>((resolve) => {
    raise = resolve
  })
  return { raised, raise }
}
