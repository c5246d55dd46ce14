/** What a Sallyport shows of itself, by the place where it shows it, and the search for secrets in all of it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { processTree } from '../clients/procscan.ts'
import type { Sallyport } from '../harness/start-sallyport.ts'

export const places = [
  'API answer',
  'argv',
  'command output',
  'database row',
  'environment',
  'file',
  'gateway log',
  'guest result',
  'metrics',
  'worker log',
] as const
export type Place = (typeof places)[number]

export interface Finding {
  readonly place: Place
  /** Name of the secret, never itself. */
  readonly secret: string
  /** Which file, process or answer. */
  readonly holder: string
}

interface Piece {
  readonly place: Place
  readonly holder: string
  readonly bytes: Buffer
}

export class Evidence {
  readonly #pieces: Piece[] = []

  add(place: Place, holder: string, content: string | Buffer): void {
    this.#pieces.push({ place, holder, bytes: Buffer.from(content) })
  }

  /** How often something was looked at there. */
  count(place: Place): number {
    return this.#pieces.filter((piece) => piece.place === place).length
  }

  /** `secrets`: name → value. */
  find(secrets: Readonly<Record<string, string>>): Finding[] {
    return Object.entries(secrets).flatMap(([secret, value]) => {
      const forms = formsOf(value)
      return this.#pieces
        .filter(({ bytes }) => forms.some((form) => bytes.includes(form)))
        .map(({ place, holder }) => ({ place, secret, holder }))
    })
  }

  /** Command line and environment of a process and all below it. */
  addProcesses(name: string, root: number): void {
    for (const pid of processTree(root)) {
      this.add('argv', name, readFileSync(`/proc/${pid}/cmdline`))
      this.add('environment', name, readFileSync(`/proc/${pid}/environ`))
    }
  }

  /** The bytes of every file, the database and its log among them. */
  addFolder(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile()) this.add('file', path, readFileSync(path))
    }
  }

  /** Every row as text: on a page of the file, a long value may be cut in two. */
  addDatabase(file: string): void {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      for (const { name } of tables) {
        const rows = database.prepare(`SELECT * FROM "${name}"`).all()
        for (const row of rows)
          this.add('database row', String(name), Object.values(row).join('\n'))
      }
    } finally {
      database.close()
    }
  }

  async addMetrics(url: string): Promise<void> {
    const answer = await fetch(`${url}/metrics`)
    this.add('metrics', '/metrics', await answer.text())
  }

  /** All that a running Sallyport has written, and its processes. */
  async addSallyport(sallyport: Sallyport): Promise<void> {
    const { url, pid, dataDir } = sallyport
    await this.addMetrics(url)
    this.addProcesses('gateway', pid)
    this.addProcesses('worker', sallyport.workerPid() as number)
    this.addFolder(dataDir)
    this.add('gateway log', 'stdout and stderr', sallyport.output())
    this.add('worker log', 'worker.log', readFileSync(join(dataDir, 'gateway', 'worker.log')))
  }
}

/** As it is, percent-encoded, as JSON writes it, in hex, and in base64 wherever in a longer text it begins. */
export function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const percent = encodeURIComponent(value)
  return [
    value,
    percent,
    percent.replace(/%../g, (code) => code.toLowerCase()),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((offset) => {
      const coded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
      // Without the characters that also hold bits of a neighbour.
      const inner = coded.slice(
        Math.ceil((offset * 4) / 3),
        Math.floor(((offset + bytes.length) * 4) / 3),
      )
      return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
    }),
  ]
}
