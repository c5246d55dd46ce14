/** What every trial shares: an upstream whose write says a word that nobody can guess, and a Sallyport before it. */
import { randomBytes } from 'node:crypto'
import type { GuestServer } from '../../../tests/clients/client-run.ts'
import {
  connectUpstream,
  grantTools,
  publishTools,
} from '../../../tests/harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../../../tests/harness/start-sallyport.ts'
import {
  type ScriptedTool,
  startUpstream,
  text,
} from '../../../tests/upstreams/scripted-upstream.ts'
import { type OnTheWire, startTap } from './tap.ts'

/** Of the connection: the harness has its tools as those of a server of this name. */
const name = 'lab'

/** `warm`: Sallyport keeps a call open for as long as a person takes. `cold`: it says at once to come back later. */
export type Profile = 'warm' | 'cold'

const settings = {
  warm: { holdSeconds: 3600, approvalTtlSeconds: 7200 },
  cold: { holdSeconds: 1, approvalTtlSeconds: 7200 },
} as const satisfies Record<Profile, object>

export interface LabWorld {
  readonly sallyport: Sallyport
  /** The server itself: it holds a write until `release`, and says nothing meanwhile. */
  readonly bare: GuestServer
  /** A session with the tools of the server behind Sallyport. */
  openSession(profile: Profile): Promise<GuestServer & { readonly id: string }>
  readonly calls: CallLog
  /** What a client did with its call of the write with that id. */
  seen(id: string): OnTheWire
  remove(): Promise<void>
}

export interface CallLog {
  /** Calls with that id that reached the server. */
  count(id: string): number
  /** When the first of them came, on the clock of `performance`. */
  cameAt(id: string): number | undefined
  /** What only the answer to that write says. */
  answerTo(id: string): string
  /** Lets the bare server answer that write. */
  release(id: string): void
}

export async function startLabWorld(): Promise<LabWorld> {
  const calls = new Calls()
  const [behind, bare] = await Promise.all([
    startUpstream({ tools: calls.tools(false) }),
    // Gemini CLI shows its model no tool of a server whose standing stream says nothing.
    startUpstream({ tools: calls.tools(true), sessions: false, standingStreams: false }),
  ])
  const sallyport = await startSallyport()
  const [guests, direct] = await Promise.all([startTap(sallyport.guestUrl), startTap(bare.url)])
  const spec = { name, url: behind.url, read: ['look'], write: ['store'] }
  await connectUpstream(sallyport, spec)
  await publishTools(sallyport, spec)
  for (const profile of ['warm', 'cold'] as const)
    await grantTools(sallyport, { ...spec, profile, settings: settings[profile] })
  return {
    sallyport,
    calls,
    bare: { name, endpoint: direct.through(bare.url), token: 'none' },
    seen: (id) => (guests.seen(id).calls > 0 ? guests.seen(id) : direct.seen(id)),
    openSession: async (profile) => {
      const { id, token, connections } = await sallyport.api('session.create', {}, { profile })
      const endpoint = connections.find((one) => one.name === name)?.endpoint
      if (!endpoint) throw new Error(`the session has no connection ${name}`)
      return { id, name, endpoint: guests.through(endpoint), token }
    },
    remove: async () => {
      await guests.close()
      await direct.close()
      await sallyport.remove()
      await behind.close()
      await bare.close()
    },
  }
}

class Calls implements CallLog {
  readonly #came = new Map<string, number[]>()
  readonly #words = new Map<string, string>()
  readonly #released = new Map<string, PromiseWithResolvers<void>>()

  count(id: string): number {
    return this.#came.get(id)?.length ?? 0
  }

  cameAt(id: string): number | undefined {
    return this.#came.get(id)?.[0]
  }

  answerTo(id: string): string {
    const word = this.#words.get(id) ?? `word-${randomBytes(8).toString('hex')}`
    this.#words.set(id, word)
    return word
  }

  release(id: string): void {
    this.#gate(id).resolve()
  }

  tools(holdsWrites: boolean): ScriptedTool[] {
    const properties = { id: { type: 'string' } }
    const inputSchema = { type: 'object', properties, required: ['id'] }
    const note = (id: string) =>
      this.#came.set(id, [...(this.#came.get(id) ?? []), performance.now()])
    return [
      {
        name: 'look',
        description: 'Looks.',
        inputSchema,
        annotations: { readOnlyHint: true },
        run: ({ arguments: { id } }) => {
          note(String(id))
          return text('Nothing has changed.')
        },
      },
      {
        name: 'store',
        description: 'Stores.',
        inputSchema,
        run: async ({ arguments: { id } }) => {
          note(String(id))
          if (holdsWrites) await this.#gate(String(id)).promise
          return text(`It is stored as ${this.answerTo(String(id))}.`)
        },
      },
    ]
  }

  #gate(id: string): PromiseWithResolvers<void> {
    const found = this.#released.get(id) ?? Promise.withResolvers<void>()
    this.#released.set(id, found)
    return found
  }
}
