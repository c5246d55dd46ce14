import type { Command } from 'commander'
import { strict } from '../verb.ts'

/** For the help only: the launcher starts the gateway itself, which reads these flags. */
export function addUpCommand(program: Command): void {
  strict(program.command('up').description('Start Sallyport on this machine'))
    .option('--data <dir>', 'data folder (default: SALLYPORT_DATA, else by XDG)')
    .option('--port <n>', 'control port (default: 7400; 0 = any free)')
    .option('--guest-port <n>', 'guest port (default: control port + 1)')
    .option('--host <h>', 'address to listen on (default: 127.0.0.1)')
    .option('--restored', 'the data comes from a backup: sessions end')
    .option('--database <url>', 'postgres://… instead of the embedded database')
    .option('--allow-local-upstreams', 'let connections lead to servers on this machine')
    .option('--json', 'print events, one JSON object a line')
    .addHelpText('after', '\nExample:\n  $ sallyport up --allow-local-upstreams')
}
