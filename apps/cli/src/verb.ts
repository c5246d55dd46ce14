/** How commands are declared: each with `--json`, one example, and usage errors as failures. */
import { type Command, type CommanderError, InvalidArgumentError } from 'commander'
import { usageFailure } from './failure.ts'

export interface Verb {
  /** Name and arguments, as commander reads them. */
  readonly usage: string
  readonly description: string
  /** A whole command line that works. */
  readonly example: string
}

export function group(parent: Command, name: string, description: string): Command {
  return strict(parent.command(name).description(description))
}

export function verb(parent: Command, { usage, description, example }: Verb): Command {
  return strict(parent.command(usage).description(description))
    .option('--json', 'print the answer as JSON, in ASCII')
    .addHelpText('after', `\nExample:\n  $ ${example}`)
}

/** `hint`: what is to be known of this command when an option or an argument of it is not understood. */
export function strict(command: Command, hint?: string): Command {
  return command.exitOverride((error) => {
    if (error.exitCode === 0 || error.code === 'commander.help') throw error
    const help = `See "${pathOf(command)} --help".`
    throw usageFailure(describeUsage(error), hint === undefined ? help : `${hint} ${help}`)
  })
}

/** Without what was typed as a value: it may be a secret on the wrong place. */
function describeUsage({ message }: CommanderError): string {
  return message
    .replace(/^error: /, '')
    .replace(/'(--[^'=]+)=[^']*'/, "'$1'")
    .replace(/ but got (\d+): .*$/s, ' but got $1.')
    .replace(/ argument '.*' is invalid/s, ' has a value that is not possible')
    .replace(/command-argument value '.*' is invalid for/s, 'what was given is not possible for')
    .replace(/\s*\n\s*/g, ' ')
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}

/** For options that may be given more than once. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

export function wholeNumber(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('Not a whole number.')
  return Number(value)
}

export function hours(value: string): number {
  if (!/^\d{1,6}(?:\.\d{1,4})?$/.test(value))
    throw new InvalidArgumentError('Not a number of hours.')
  return Number(value)
}
