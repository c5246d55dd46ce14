/** The tree of commands, and how one of them runs and ends. */
import { release } from '@sallyport/protocol'
import { Command, CommanderError } from 'commander'
import { addApprovalCommands } from './commands/approvals.ts'
import { addAuditCommands } from './commands/audit.ts'
import { addCatalogCommands } from './commands/catalog.ts'
import { addConfigCommand } from './commands/config.ts'
import { addConnectionCommands } from './commands/connection.ts'
import { addDeniedCommands } from './commands/denied.ts'
import { addExecutionCommands } from './commands/executions.ts'
import { addOperationCommands } from './commands/operation.ts'
import { addProfileCommands } from './commands/profile.ts'
import { addRunCommand } from './commands/run.ts'
import { addSandboxCommands } from './commands/sandbox.ts'
import { addServiceCommands } from './commands/service.ts'
import { addSessionCommands } from './commands/session.ts'
import { addTokenCommands } from './commands/token.ts'
import { addUpCommand } from './commands/up.ts'
import { addUserCommands } from './commands/user.ts'
import { addWebhookCommands } from './commands/webhook.ts'
import { describeFailure, exitCodeOf, exitCodes, Failure, toFailure } from './failure.ts'
import { GuestExit } from './guest-exit.ts'
import { nextStep } from './next-step.ts'
import { strict } from './verb.ts'
import type { World } from './world.ts'

/** `words` are those after the program's name. Never throws; the number is the exit code. */
export async function runCommandLine(words: readonly string[], world: World): Promise<number> {
  try {
    await buildProgram(words, world).parseAsync(words, { from: 'user' })
    return exitCodes.done
  } catch (thrown) {
    // Help that was asked for ends with 0; help instead of a missing command is a usage error.
    if (thrown instanceof CommanderError)
      return thrown.exitCode === 0 ? exitCodes.done : exitCodes.usage
    if (thrown instanceof GuestExit) return thrown.exitCode
    const found = withNext(toFailure(thrown), words[0] ?? '')
    world.stderr.write(`${describeFailure(found)}\n`)
    return exitCodeOf(found.code)
  }
}

function withNext(found: Failure, group: string): Failure {
  if (found.next !== undefined) return found
  const { code, message, who, field } = found
  return new Failure({ code, message, who, field, next: nextStep(code, group, field) })
}

export function buildProgram(words: readonly string[], world: World): Command {
  const program = strict(new Command('sallyport'))
    .description('Tools for agents in sandboxes, without the keys.')
    .version(release)
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
      outputError: () => undefined,
      getOutHelpWidth: () => world.stdout.columns ?? 100,
      getErrHelpWidth: () => world.stderr.columns ?? 100,
    })
  addUpCommand(program)
  addOperationCommands(program, world)
  addUserCommands(program, world)
  addTokenCommands(program, world)
  addConnectionCommands(program, world, wordsAfterDashes(words))
  addServiceCommands(program, world)
  addCatalogCommands(program, world)
  addProfileCommands(program, world)
  addSessionCommands(program, world)
  addRunCommand(program, world, wordsAfterDashes(words))
  addSandboxCommands(program, world)
  addDeniedCommands(program, world)
  addApprovalCommands(program, world)
  addExecutionCommands(program, world)
  addWebhookCommands(program, world)
  addAuditCommands(program, world)
  addConfigCommand(program, world)
  return program
}

/** Commander drops the `--`; `connection add` and `run` must know what came after it. */
function wordsAfterDashes(words: readonly string[]): readonly string[] | undefined {
  const at = words.indexOf('--')
  return at < 0 ? undefined : words.slice(at + 1)
}
