import type { Command } from 'commander'
import { strict } from '../verb.ts'

/** For the list of commands only: the launcher hands `up`, with all its flags, to the gateway. */
export function addUpCommand(program: Command): void {
  strict(program.command('up').description('Start Sallyport on this machine'))
    .usage('[options]')
    .addHelpText('after', '\n"sallyport up --help" lists its options.\n')
    .addHelpText('after', 'Example:\n  $ sallyport up --allow-local-upstreams')
}
