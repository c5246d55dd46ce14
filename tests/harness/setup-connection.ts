/** The whole way of an upstream into a session, as an administrator goes it through the API. */
import { randomBytes } from 'node:crypto'
import { type Answer, idSource, type ProfileSettings } from '@sallyport/protocol'
import { type Header, sealConnection } from '@sallyport/protocol/node'
import { ApiRefusal } from './call-api.ts'
import type { Sallyport } from './start-sallyport.ts'

export interface UpstreamSpec {
  readonly name: string
  readonly url: string
  readonly token?: string
  readonly headers?: readonly Header[]
  readonly limits?: { readonly callMs?: number; readonly resultBytes?: number }
  /** Globs over the tools to include. */
  readonly read: readonly string[]
  readonly write?: readonly string[]
}

export interface GrantSpec extends UpstreamSpec {
  /** Made when there is none of that name. */
  readonly profile: string
  /** Of a profile that is made. */
  readonly settings?: Partial<ProfileSettings>
  /** Tools reviewed for writing get `write_unattended`, else `write_with_approval`. */
  readonly unattended?: boolean
  /** Of tools for writing: an unknown outcome holds up identical calls only. */
  readonly identicalOnly?: boolean
}

export type OpenSession = Answer<'session.create'>

const ids = idSource(Date.now, (size) => randomBytes(size))

/** Connects, reviews, publishes, enables, grants, and opens a session with what the profile then has. */
export async function connectAndGrant(sallyport: Sallyport, spec: GrantSpec): Promise<OpenSession> {
  await connectUpstream(sallyport, spec)
  await publishTools(sallyport, spec)
  await grantTools(sallyport, spec)
  return await sallyport.api('session.create', {}, { profile: spec.profile })
}

/** Seals here, as the command line does, and adds the connection. */
export async function connectUpstream(
  { api }: Sallyport,
  spec: Pick<UpstreamSpec, 'name' | 'url' | 'token' | 'headers' | 'limits'>,
): Promise<Answer<'connection.create'>> {
  const { name, url, token, headers = [], limits = {} } = spec
  const { kid, jwk, localUpstreams } = await api('vault.show')
  const id = ids('connection')
  const { endpoint, credential } = sealConnection({
    url,
    token,
    headers,
    connectionId: id,
    revision: 1,
    credentialId: ids('credential'),
    credentialVersion: 1,
    scope: 'org',
    key: { kid, jwk },
    localAllowed: localUpstreams,
  })
  const sealed = { endpoint, ...(credential ? { credential } : {}) }
  return await api('connection.create', {}, { id, name, limits, ...sealed })
}

/** Discovers, reviews, publishes and enables. */
export async function publishTools(
  { api }: Sallyport,
  { name, read, write = [] }: Pick<UpstreamSpec, 'name' | 'read' | 'write'>,
): Promise<void> {
  await api('catalog.discover', { name })
  const review = { include: [...read, ...write], read: [...read], write: [...write] }
  await api('catalog.review', { name }, review)
  await api('catalog.publish', { name }, {})
  await api('connection.enable', { name })
}

export async function grantTools(sallyport: Sallyport, spec: GrantSpec): Promise<void> {
  const { api } = sallyport
  const { name: connection, profile, read, write = [], unattended = false } = spec
  const limits = spec.identicalOnly ? { identicalOnly: true } : {}
  await ensureProfile(sallyport, profile, spec.settings)
  const writeMode = unattended ? 'write_unattended' : 'write_with_approval'
  for (const tools of read)
    await api('profile.grant', { name: profile }, { connection, tools, mode: 'read' })
  for (const tools of write) {
    const confirmed = { confirmUnattended: unattended, limits }
    const grant = { connection, tools, mode: writeMode, ...confirmed } as const
    await api('profile.grant', { name: profile }, grant)
  }
}

async function ensureProfile(
  { api }: Sallyport,
  name: string,
  settings: Partial<ProfileSettings> = {},
): Promise<void> {
  try {
    await api('profile.create', {}, { name, settings })
  } catch (thrown) {
    if (!(thrown instanceof ApiRefusal && thrown.code === 'name_taken')) throw thrown
  }
}
