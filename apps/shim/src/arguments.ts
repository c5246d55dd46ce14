/** How the shim is told where the gateway is. Nothing in its arguments is secret. */
export type Way =
  | { readonly kind: 'socket' | 'device' | 'relay'; readonly path: string }
  | { readonly kind: 'fd'; readonly fd: number }
  | { readonly kind: 'url'; readonly url: URL; readonly tokenFrom: string | number }

export interface Arguments {
  readonly way: Way
  /** `/mcp`, or the one of a connection. */
  readonly path: string
}

const usage =
  'usage: --socket PATH | --fd N | --device PATH | --relay DIR | --url URL (--token-file PATH | --token-fd N) [--connection NAME]'

const ways = ['socket', 'device', 'relay', 'fd', 'url'] as const
const names = [...ways, 'token-file', 'token-fd', 'connection'] as const
type Given = { [name in (typeof names)[number]]?: string }

/** Throws an Error whose message is for whoever started the shim. */
export function readArguments(args: readonly string[]): Arguments {
  const given = parse(args)
  const [kind, another] = ways.filter((name) => given[name])
  const { connection = '', 'token-file': file, 'token-fd': fd } = given
  const tokens = [file, fd].filter(Boolean).length
  if (
    !kind ||
    another ||
    tokens !== Number(kind === 'url') ||
    !/^[a-z0-9-]{0,32}$/.test(connection)
  )
    throw new Error(usage)
  const way = wayOf(kind, given)
  const base = way.kind === 'url' ? way.url.pathname.replace(/\/$/, '') : '/mcp'
  return { way, path: connection ? `${base}/${connection}` : base }
}

/** By hand: node:util takes longer to load than everything here. */
function parse(args: readonly string[]): Given {
  const given: Given = {}
  for (let at = 0; at < args.length; at += 2) {
    const name = names.find((known) => `--${known}` === args[at])
    const value = args[at + 1]
    if (!name || !value || given[name]) throw new Error(usage)
    given[name] = value
  }
  return given
}

function wayOf(kind: (typeof ways)[number], given: Given): Way {
  const { fd, url = '', 'token-file': file, 'token-fd': tokenFd } = given
  if (kind === 'fd') return { kind, fd: descriptor(fd) }
  if (kind === 'url') return { kind, url: readUrl(url), tokenFrom: file ?? descriptor(tokenFd) }
  return { kind, path: given[kind] as string }
}

function descriptor(text: string | undefined): number {
  const fd = Number(text)
  if (!(fd > 2)) throw new Error('descriptors are numbers from 3 up')
  return fd
}

/** A secret in an address would stand in the arguments; and nothing of one is repeated here. */
function readUrl(text: string): URL {
  // What URL itself says when it throws holds no part of the text.
  const url = new URL(text)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search)
    throw new Error('--url must be http or https, without user name and query')
  return url
}
