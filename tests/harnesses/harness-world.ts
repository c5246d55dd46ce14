/** A whole Sallyport, a fake model on this machine, and agent programs in sandboxes through `sallyport run`. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentName } from '@sallyport/launcher'
import type { Answer } from '@sallyport/protocol'
import { agentTools } from '../clients/agent-tools.ts'
import { connectionName, startGovernedRun } from '../clients/governed-run.ts'
import type { Ended, RunningCommand } from '../system/commands.ts'
import { RunWorld } from './run-world.ts'

/** How each is told, without a person, what to do: words after the dashes, and stdin. */
const drive: Record<AgentName, (prompt: string) => { words: string[]; stdin?: string }> = {
  claude: (prompt) => ({ words: ['-p', prompt, '--model', 'claude-opus-5'] }),
  // By a name that it does not know, else it hides its tools.
  codex: (prompt) => ({ words: ['exec', '--skip-git-repo-check', '-m', 'fake-model', prompt] }),
  opencode: (prompt) => ({ words: ['run', '-m', 'anthropic/claude-sonnet-4-5'], stdin: prompt }),
  gemini: (prompt) => ({ words: ['-p', prompt, '-m', 'gemini-2.5-pro'] }),
  pi: (prompt) => ({
    words: ['-p', prompt, '--model', 'anthropic/claude-sonnet-4-5', '--no-session'],
  }),
}

const lookMs = 100

export interface RunAsked {
  readonly workspace: string
  readonly prompt: string
  readonly profile?: string
  /** Of `sallyport run`. */
  readonly options?: readonly string[]
  /** Looked at while it runs: once it is so, the run is told to end. */
  readonly enough?: () => boolean
}

export interface HarnessRun extends Ended {
  /** Undefined when it was refused before it had one. */
  readonly session: Answer<'session.show'> | undefined
}

export class HarnessWorld extends RunWorld {
  /** Profiles: `clients` may read the counter, `nothing` may do nothing. */
  static async start(): Promise<HarnessWorld> {
    const settings = { isolation: ['bubblewrap'] as 'bubblewrap'[] }
    const governed = await startGovernedRun({
      granted: ['counter_read'],
      withheld: ['echo'],
      tools: agentTools,
      settings,
    })
    await governed.sallyport.api('profile.create', {}, { name: 'nothing', settings })
    return new HarnessWorld(governed)
  }

  /** To its end. */
  async run(
    name: AgentName,
    program: string,
    { workspace, prompt, profile = 'clients', options = [], enough }: RunAsked,
  ): Promise<HarnessRun> {
    const { model } = this.governed
    const { words, stdin } = drive[name](prompt)
    const url = name === 'codex' ? `${model.url}/v1` : model.url
    const given = ['--profile', profile, '--workspace', workspace, '--harness-path', program]
    const asked = [name, ...given, '--model-url', url, ...options, '--', ...words]
    const before = new Set((await this.#sessions()).map(({ id }) => id))
    const ended = await toItsEnd(this.start(asked, stdin), enough)
    return { ...ended, session: (await this.#sessions()).find(({ id }) => !before.has(id)) }
  }

  async #sessions(): Promise<readonly Answer<'session.show'>[]> {
    return (await this.governed.sallyport.api('session.list')).items
  }
}

async function toItsEnd(command: RunningCommand, enough = () => false): Promise<Ended> {
  const looking = setInterval(() => enough() && command.kill('SIGTERM'), lookMs)
  try {
    return await command.ended
  } finally {
    clearInterval(looking)
  }
}

export const tool = `sallyport:${connectionName}__counter_read`

/** Every file below a folder, with what is in it; what our own command line keeps is not of interest. */
export function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true }) as string[]
  const files = names.filter(
    (name) => statSync(join(folder, name)).isFile() && !name.startsWith('.cache/sallyport/'),
  )
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}
