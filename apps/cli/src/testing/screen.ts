/** What a terminal shows of what was written to it, as far as our view uses one; throws for any other sequence. */
export class Screen {
  /** Private modes that are on, by their numbers: 1049 other screen, 25 cursor, 7 autowrap, 2004 marked pastes. */
  readonly modes = new Set([25, 7])
  /** Everything that was written. */
  written = ''
  bells = 0
  /** Of the window. */
  title = ''
  readonly #keptTitles: string[] = []
  #lines: string[] = []
  #line = 0
  #rest = ''

  write(text: string): void {
    this.written += text
    this.#rest += text
    for (let length = this.#next(); length > 0; length = this.#next())
      this.#rest = this.#rest.slice(length)
  }

  get text(): string {
    return Array.from(this.#lines, (line) => (line ?? '').trimEnd()).join('\n')
  }

  /** Does what comes first; its length, 0 when it is not whole. */
  #next(): number {
    const rest = this.#rest
    if (rest.startsWith('\x1b]')) {
      const [all = '', title] = /^.\]2;(\P{Cc}*)\p{Cc}/u.exec(rest) ?? []
      this.title = title ?? this.title
      return all.length
    }
    if (rest.startsWith('\x1b')) {
      const [all = '', parameters = '', final = ''] = /^.\[([0-?]*)([@-~])/.exec(rest) ?? []
      if (all !== '') this.#control(parameters, final)
      return all.length
    }
    const [text = ''] = /^\P{Cc}+|^\p{Cc}/u.exec(rest) ?? []
    if (text === '\x07') this.bells++
    else if (!/[\r\n]/.test(text) && text !== '')
      this.#lines[this.#line] = (this.#lines[this.#line] ?? '') + text
    return text.length
  }

  #control(parameters: string, final: string): void {
    const all = parameters + final
    const [, line] = /^(\d+);1H$/.exec(all) ?? []
    const [, number, on] = /^\?(\d+)([hl])$/.exec(all) ?? []
    if (line !== undefined) this.#line = Number(line) - 1
    else if (number !== undefined) this.modes[on === 'h' ? 'add' : 'delete'](Number(number))
    else if (all === '2K') this.#lines[this.#line] = ''
    else if (all === '2J') this.#lines = []
    else if (all === '22;2t') this.#keptTitles.push(this.title)
    else if (all === '23;2t') this.title = this.#keptTitles.pop() ?? this.title
    else if (!/^\d*m$|^J$|^<u$|^>4m$/.test(all)) throw new Error(`odd sequence ${all}`)
  }
}
