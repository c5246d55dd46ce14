/** A whole Sallyport, a fake model, and agents that are spoken to by ACP in sandboxes through `sallyport run`. */
import { readdirSync, readFileSync } from 'node:fs'
import { agentTools } from '../clients/agent-tools.ts'
import { connectionName, startGovernedRun } from '../clients/governed-run.ts'
import type { ClientName } from '../clients/install-clients.ts'
import { RunWorld } from './run-world.ts'

export const acpAgents = {
  claude: { client: 'claude-acp', model: 'claude-opus-5' },
  // By a name that it does not know, else it hides its tools.
  codex: { client: 'codex-acp', model: 'fake-model' },
  gemini: { client: 'gemini', model: 'gemini-2.5-pro' },
  opencode: { client: 'opencode', model: 'anthropic/claude-sonnet-4-5' },
} as const satisfies Record<string, { readonly client: ClientName; readonly model: string }>
export type AcpAgentName = keyof typeof acpAgents

export const readTool = `sallyport:${connectionName}__counter_read`
export const addTool = `sallyport:${connectionName}__counter_add`

export class AcpWorld extends RunWorld {
  /** The profile may read the counter, and add to it when a person agrees. */
  static async start(): Promise<AcpWorld> {
    return new AcpWorld(
      await startGovernedRun({
        granted: ['counter_read'],
        writes: [{ tool: 'counter_add', mode: 'write_with_approval' }],
        tools: agentTools,
        settings: { isolation: ['bubblewrap'] },
      }),
    )
  }

  workspace(): string {
    return this.folder('workspace')
  }

  /** The words of `sallyport run`. */
  words(
    name: AcpAgentName,
    program: string,
    asked: {
      readonly workspace: string
      readonly prompt: string
      readonly options?: readonly string[]
    },
  ): string[] {
    const { model } = this.governed
    const url = name === 'codex' ? `${model.url}/v1` : model.url
    const { workspace, prompt, options = [] } = asked
    const given = ['--profile', 'clients', '--workspace', workspace, '--harness-path', program]
    const named = ['--model-url', url, '--acp-model', acpAgents[name].model]
    return [`acp:${name}`, ...given, ...named, ...options, '--', prompt]
  }
}

/** Processes below this one that run that script, as the guest sees it. */
export function running(script: string, above: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => wordsOf(pid)[1] === script && isBelow(pid, above))
}

/** Whom it started. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map(Number)
}

function isBelow(pid: number, above: number): boolean {
  for (let one = pid; one > 1; one = parentOf(one)) if (one === above) return true
  return false
}

/** Zero for a process that is gone. */
function parentOf(pid: number): number {
  const stat = readProc(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

const wordsOf = (pid: number): string[] => readProc(pid, 'cmdline').split('\0')

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    // It ended while we looked.
    return ''
  }
}
