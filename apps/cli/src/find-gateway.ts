/** Address and token: from the environment, else from the data folder of an `up` on this machine. */
import { readFile } from 'node:fs/promises'
import {
  adminTokenFile,
  dataFolder,
  endpointFile,
  type RunningGateway,
  runningGateway,
} from '@sallyport/protocol/node'
import type { Gateway } from './api-client.ts'
import { failure } from './failure.ts'
import type { World } from './world.ts'

const defaultUrl = 'http://127.0.0.1:7400'
const howToStart = 'Start it with "sallyport up", or name another with SALLYPORT_URL.'

export async function findGateway(env: World['env']): Promise<Gateway> {
  const folder = dataFolder(env)
  const running = await readRunning(folder)
  const named = env.SALLYPORT_URL
  const url = checkUrl(named || running?.url || defaultUrl)
  const token = (await tokenOfEnvironment(env)) ?? (await tokenOfFolder(folder, url, running))
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw failure('not_authenticated', { next: 'What was given as token cannot be one.' })
  const whenUnreachable = named ? `Nothing answers at ${url.origin}.` : howToStart
  return { url: url.origin, token, whenUnreachable }
}

/** Undefined when no `up` has written there, or what is there cannot be read. */
export async function readRunning(folder: string): Promise<RunningGateway | undefined> {
  try {
    const text = await readFile(endpointFile(folder), 'utf8')
    return runningGateway.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function checkUrl(text: string): URL {
  const next = 'SALLYPORT_URL is https, or http toward this machine, without path.'
  if (!URL.canParse(text)) throw failure('usage', { field: 'SALLYPORT_URL', next })
  const url = new URL(text)
  const safe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))
  // The token would cross the network in the clear.
  if (!safe || url.username || url.password)
    throw failure('usage', { field: 'SALLYPORT_URL', next })
  return url
}

function isLoopback(url: URL): boolean {
  const host = url.hostname
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

async function tokenOfEnvironment(env: World['env']): Promise<string | undefined> {
  const path = env.SALLYPORT_TOKEN_FILE
  if (!path) return env.SALLYPORT_TOKEN || undefined
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (cause) {
    throw Object.assign(failure('file_unreadable', { field: 'SALLYPORT_TOKEN_FILE' }), { cause })
  }
}

/**
 * The administrator's token of this machine goes only to the `up` that runs on it now: when that has ended, any user
 * of the machine may be listening on its port.
 */
async function tokenOfFolder(
  folder: string,
  url: URL,
  running: RunningGateway | undefined,
): Promise<string | undefined> {
  if (!running || !isAlive(running.pid) || !isSameListener(url, new URL(running.url)))
    return undefined
  try {
    return (await readFile(adminTokenFile(folder), 'utf8')).trim()
  } catch {
    return undefined
  }
}

function isSameListener(a: URL, b: URL): boolean {
  return a.origin === b.origin || (isLoopback(a) && isLoopback(b) && a.port === b.port)
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as { code?: string }).code === 'EPERM'
  }
}
