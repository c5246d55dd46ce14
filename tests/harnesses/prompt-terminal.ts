import { Pty } from '../../apps/cli/src/testing/pty.ts'
import { Screen } from '../../apps/cli/src/testing/screen.ts'
import { eventually } from '../system/eventually.ts'

const bin = new URL('../../apps/cli/bin/sallyport.js', import.meta.url).pathname

/** Of a prompt: what is written to it is all that is looked at. */
class Paper extends Screen {
  override write(text: string): void {
    this.written += text
  }
}

/** `sallyport` at a pseudo-terminal, where a person is asked line by line. In `home`, `before` and `after` are the terminal's state. */
export class PromptTerminal {
  readonly #pty: Pty
  #seen = 0

  constructor(words: readonly string[], home: string, env: Readonly<Record<string, string>>) {
    const quoted = [process.execPath, bin, ...words].map(
      (word) => `'${word.replaceAll("'", `'\\''`)}'`,
    )
    const lines = ['stty -g > before', quoted.join(' '), 'echo "code $?"; stty -g > after']
    this.#pty = new Pty(lines, home, env, new Paper())
  }

  /** Resolves once `text` has been written since the last look, with everything up to it. */
  async shows(text: string): Promise<string> {
    const written = (): string => this.#pty.screen.written
    // An agent program on a busy machine takes its time to begin.
    await eventually(
      async () => written().slice(this.#seen),
      (found) => found.includes(text),
      60_000,
    )
    const from = this.#seen
    this.#seen = written().indexOf(text, from) + text.length
    return written().slice(from, this.#seen)
  }

  /** A line. */
  type(line: string): void {
    this.press(`${line}\r`)
  }

  press(keys: string): void {
    this.#pty.type(keys)
  }

  end(): Promise<void> {
    return this.#pty.end()
  }

  /** Whoever sat there is gone. */
  hangUp(): Promise<void> {
    return this.#pty.kill()
  }
}
