import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Screen } from './screen.ts'

/** A shell script on a pseudo-terminal of 80x24, by `script` of util-linux. */
export class Pty {
  readonly screen: Screen
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>

  constructor(
    lines: readonly string[],
    folder: string,
    env: Readonly<Record<string, string>>,
    screen = new Screen(),
  ) {
    this.screen = screen
    const command = ['stty cols 80 rows 24', ...lines].join('\n')
    this.#child = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        SHELL: '/bin/bash',
        TERM: 'xterm',
        ...env,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.screen.write(text))
    this.#closed = once(this.#child, 'close')
  }

  type(text: string): void {
    this.#child.stdin?.write(text)
  }

  async end(): Promise<void> {
    await this.#closed
  }

  /** Ends it whatever it does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL')
    await this.#closed
  }
}
