/** Looks for secrets where another program of the machine could read them: process tree and files. Linux only. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Finding {
  /** Name of the sentinel, never the secret itself. */
  readonly secret: string
  readonly where: 'argv' | 'environ' | 'file'
  /** Process title, or path of the file. */
  readonly holder: string
  /** Of `environ`: the name of the variable. */
  readonly variable?: string
}

/** `secrets`: name → value. A value is also looked for base64-encoded. */
export function scanProcesses(root: number, secrets: Record<string, string>): Finding[] {
  return processTree(root).flatMap((pid) => {
    const argv = readParts(`/proc/${pid}/cmdline`)
    const holder = argv[0] ?? String(pid)
    return forms(secrets).flatMap(([secret, text]): Finding[] => [
      ...argv
        .filter((part) => part.includes(text))
        .map(() => ({ secret, where: 'argv' as const, holder })),
      ...readParts(`/proc/${pid}/environ`)
        .filter((part) => part.includes(text))
        .map((part) => ({
          secret,
          where: 'environ' as const,
          holder,
          variable: part.split('=')[0] as string,
        })),
    ])
  })
}

export function scanFiles(folder: string, secrets: Record<string, string>): Finding[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const holder = join(entry.parentPath, entry.name)
      const bytes = readFileSync(holder)
      return forms(secrets)
        .filter(([, text]) => bytes.includes(text))
        .map(([secret]): Finding => ({ secret, where: 'file', holder }))
    })
}

/** The process and all its descendants that live now. */
export function processTree(root: number): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const tree: number[] = []
  for (const queue = [root]; queue.length > 0; ) {
    const pid = queue.pop() as number
    if (isAlive(pid)) tree.push(pid)
    queue.push(...(children.get(pid) ?? []))
  }
  return tree
}

function isAlive(pid: number): boolean {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false }) !== undefined
}

/** The name in `stat` may hold blanks and brackets; the fields after it may not. */
function parentOf(pid: string): number | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  return stat === '' ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function readParts(path: string): string[] {
  return readText(path).split('\0').filter(Boolean)
}

/** A process may end between listing and reading. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function forms(secrets: Record<string, string>): [string, string][] {
  return Object.entries(secrets).flatMap(([name, value]): [string, string][] => [
    [name, value],
    [name, Buffer.from(value).toString('base64').replace(/=*$/, '').slice(0, -1)],
  ])
}
