import { type AgentName, type AgentProgram, agentNames } from './agent-program.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { geminiCli } from './gemini-cli.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'

export const agentPrograms: Readonly<Record<AgentName, AgentProgram>> = {
  claude: claudeCode,
  codex,
  opencode,
  gemini: geminiCli,
  pi,
}

export const allAgentPrograms: readonly AgentProgram[] = agentNames.map(
  (name) => agentPrograms[name],
)
