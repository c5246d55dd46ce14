/** A real Postgres for tests: its own temporary folder, its own process, reachable only over a Unix socket in that folder. */
import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { account, findPostgres } from './postgres-binaries.ts'

export interface RunningPostgres {
  /** For `pg`: superuser of an empty database. */
  readonly url: string
  /** Ends the process and removes the folder. */
  stop(): Promise<void>
}

/** Where a flush costs nothing: no test cuts the power of the machine, and all of them commit all the time. */
const memory = '/dev/shm'
/** Several clusters at once, each with its log of writes. */
const roomyBytes = 4 * 1024 ** 3

function isRoomy(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize >= roomyBytes
  } catch {
    return false
  }
}

type Server = ChildProcessByStdio<Writable, null, Readable>

/** Throws with what was tried when no Postgres runs here: a test that needs one fails, it is never skipped. */
export async function startPostgres(): Promise<RunningPostgres> {
  const folder = mkdtempSync(join(isRoomy(memory) ? memory : tmpdir(), 'sallyport-pg-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    chmodSync(folder, 0o755)
    const bin = findPostgres(folder)
    const home = join(folder, 'home')
    mkdirSync(home)
    if (account.uid !== undefined) chownSync(home, account.uid, account.gid)
    createCluster(bin, home)
    const server = await startServer(bin, home)
    return {
      url: `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(home)}`,
      async stop() {
        await end(server)
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

const environment = (home: string) => ({ LC_ALL: 'C', PATH: '/usr/bin:/bin', HOME: home })

function createCluster(bin: string, home: string): void {
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N']
  const run = spawnSync(join(bin, 'initdb'), ['-D', join(home, 'data'), ...options], {
    ...account,
    env: environment(home),
    encoding: 'utf8',
  })
  if (run.status !== 0) throw new Error(`initdb failed: ${run.error?.message ?? run.stderr}`)
}

/**
 * Ends the server (SIGINT: sessions are ended, the cluster is left clean) when its own standard input ends: that is when
 * we say so, and when this process is gone without a word.
 */
const guardian = `
  "$0" "$@" & server=$!
  exec 3<&0
  (cat <&3 > /dev/null; kill -INT $server) &
  wait $server`

async function startServer(bin: string, home: string): Promise<Server> {
  const settings = ['listen_addresses=', 'max_connections=200', 'shared_buffers=32MB']
  const command = [
    '-D',
    join(home, 'data'),
    '-k',
    home,
    ...settings.flatMap((each) => ['-c', each]),
  ]
  const server = spawn('/bin/sh', ['-c', guardian, join(bin, 'postgres'), ...command], {
    ...account,
    env: environment(home),
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  server.once('exit', () => server.stdin.end())
  await ready(server)
  return server
}

function ready(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    server.stderr.on('data', (chunk: Buffer) => {
      if (log.length < 10_000) log += chunk
      if (log.includes('ready to accept connections')) resolve()
    })
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`postgres ended while starting: ${log}`)))
  })
}

function end(server: Server): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    server.once('exit', () => resolve())
    server.stdin.end()
  })
}
