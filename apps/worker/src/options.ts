import { parseArgs } from 'node:util'
import type { EgressRules } from './dialer/egress-policy.ts'
import { type EgressProxy, parseProxy } from './dialer/egress-proxy.ts'
import type { UserToBe } from './isolation/become-user.ts'
import { parsedJson } from './parsed-json.ts'

export type Place = { readonly path: string } | { readonly host: string; readonly port: number }

export type VaultKeyPlace =
  | { readonly file: string }
  | { readonly descriptor: number }
  | { readonly command: readonly string[] }

/** None of it is secret: arguments can be read by every process of the machine. */
export interface WorkerOptions {
  readonly place: Place
  /** A socket is open to the worker's group too: to a gateway that is another user. */
  readonly groupSocket: boolean
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly allowLocalUpstreams: boolean
  /** Further authorities that upstreams may be certified by; PEM. */
  readonly upstreamCa: string | undefined
  /** Not read yet: what reads them is loaded only when there are any. */
  readonly egressRules: EgressRules | undefined
  readonly egressProxy: EgressProxy | undefined
  readonly vaultKey: VaultKeyPlace
  /** Who to be from the start, where it is started by root. */
  readonly runAs: UserToBe | undefined
  readonly reconnectWindowMs: number
  readonly build: string
}

/** `--socket` is a path, or `host:port`. Throws TypeError for what cannot be understood. */
export function parseOptions(args: readonly string[]): WorkerOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      socket: { type: 'string' },
      'group-socket': { type: 'boolean', default: false },
      cert: { type: 'string' },
      key: { type: 'string' },
      ca: { type: 'string' },
      'allow-local-upstreams': { type: 'boolean', default: false },
      'upstream-ca': { type: 'string' },
      'deny-host': { type: 'string', multiple: true },
      'allow-host': { type: 'string', multiple: true },
      'allow-private': { type: 'string', multiple: true },
      'egress-proxy': { type: 'string' },
      'egress-proxy-resolves': { type: 'boolean', default: false },
      'vault-key-file': { type: 'string' },
      'vault-key-fd': { type: 'string' },
      'vault-key-command': { type: 'string' },
      'run-as': { type: 'string' },
      'reconnect-window-ms': { type: 'string', default: '600000' },
      build: { type: 'string', default: 'source' },
    },
  })
  const { socket, cert, key, ca } = values
  if (!socket || !cert || !key || !ca)
    throw new TypeError('--socket, --cert, --key, --ca are needed')
  return {
    place: placeOf(socket),
    groupSocket: values['group-socket'],
    cert,
    key,
    ca,
    allowLocalUpstreams: values['allow-local-upstreams'],
    upstreamCa: values['upstream-ca'],
    egressRules: rulesOf(values),
    egressProxy: proxyOf(values['egress-proxy'], values['egress-proxy-resolves']),
    vaultKey: vaultKeyPlace(values),
    runAs: userOf(values['run-as']),
    reconnectWindowMs: wholeNumber('--reconnect-window-ms', values['reconnect-window-ms']),
    build: values.build,
  }
}

function placeOf(socket: string): Place {
  const [, host, port] = /^([^/\\]+):(\d{1,5})$/.exec(socket) ?? []
  return host === undefined ? { path: socket } : { host, port: Number(port) }
}

function rulesOf(values: {
  readonly 'deny-host'?: string[] | undefined
  readonly 'allow-host'?: string[] | undefined
  readonly 'allow-private'?: string[] | undefined
}): EgressRules | undefined {
  const rules = {
    deny: values['deny-host'],
    allow: values['allow-host'],
    allowPrivate: values['allow-private'],
  }
  return Object.values(rules).some((given) => given !== undefined) ? rules : undefined
}

function proxyOf(url: string | undefined, resolves: boolean): EgressProxy | undefined {
  if (url !== undefined) return parseProxy(url, resolves)
  if (resolves) throw new TypeError('--egress-proxy-resolves needs --egress-proxy')
  return undefined
}

function vaultKeyPlace(values: {
  readonly 'vault-key-file'?: string | undefined
  readonly 'vault-key-fd'?: string | undefined
  readonly 'vault-key-command'?: string | undefined
}): VaultKeyPlace {
  const { 'vault-key-file': file, 'vault-key-fd': fd, 'vault-key-command': command } = values
  if ([file, fd, command].filter((one) => one !== undefined).length !== 1)
    throw new TypeError('one of --vault-key-file, --vault-key-fd, --vault-key-command is needed')
  if (fd !== undefined) return { descriptor: wholeNumber('--vault-key-fd', fd) }
  return file !== undefined ? { file } : { command: wordsOf(command ?? '') }
}

/** `UID:GID`, as numbers: where it runs there may be no list of names. Root would be nobody else. */
function userOf(text: string | undefined): UserToBe | undefined {
  if (text === undefined) return undefined
  const [, uid, gid] = /^([1-9]\d{0,9}):([1-9]\d{0,9})$/.exec(text) ?? []
  if (uid === undefined || gid === undefined) throw new TypeError('--run-as takes UID:GID, not 0')
  return { uid: Number(uid), gid: Number(gid) }
}

/** Words between spaces, or a list in JSON for words that hold spaces. There is no shell and no quoting. */
function wordsOf(command: string): readonly string[] {
  const words: unknown = command.startsWith('[') ? parsedJson(command) : command.match(/\S+/g)
  const isList = Array.isArray(words) && words.every((word) => typeof word === 'string')
  if (!isList || !words[0]?.startsWith('/'))
    throw new TypeError('--vault-key-command begins with the whole path of a program')
  return words
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`${name} takes a whole number`)
  return Number(text)
}
