/**
 * What is tried from inside: a program in plain JavaScript, for whatever Node is there. It says of each attempt what became of
 * it, on a line of its own; one it does not speak of was not made, which is no denial.
 */
import type { HostTarget } from './host-side.ts'

export interface Attempt {
  readonly name: string
  readonly outcome: 'denied' | 'done'
  readonly detail: string
}

export interface Attempts {
  readonly targets: readonly HostTarget[]
  /** A process of the host, to be signalled. */
  readonly pid: number
  /** A folder of the host that is not shown. */
  readonly hidden: string
}

export function guestProbe(attempts: Attempts): string {
  return `const given = ${JSON.stringify(attempts)}\n${program}`
}

export function attemptsIn(output: string): readonly Attempt[] {
  return output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** What may be done shows that the probe can do anything at all. */
export const controls = ['write into the workspace', 'write into /tmp', 'a loopback of its own']

/** Files are opened for writing and not written: where there are no walls the probe must do no harm. */
const program = `
const fs = require('node:fs'), net = require('node:net'), { spawnSync } = require('node:child_process')
const say = (name, outcome, detail) => fs.writeSync(1, JSON.stringify({ name, outcome, detail }) + '\\n')
const attempt = (name, work) => {
  try { work(); say(name, 'done', '') } catch (e) { say(name, 'denied', String(e.code || e.message)) }
}
const dial = (name, to) => new Promise((resolve) => {
  const socket = net.connect(to)
  const end = (outcome, detail) => { say(name, outcome, detail); socket.destroy(); resolve() }
  socket.setTimeout(3000, () => end('denied', 'timeout'))
  socket.on('connect', () => end('done', '')).on('error', (e) => end('denied', e.code))
})
const main = async () => {
  for (const [name, folder] of [['the workspace', '.'], ['/tmp', '/tmp']])
    attempt('write into ' + name, () => fs.rmdirSync(fs.mkdtempSync(folder + '/probe-')))
  const own = net.createServer((s) => s.end()).listen(0, '127.0.0.1')
  await new Promise((resolve) => own.on('listening', resolve))
  await dial('a loopback of its own', { host: '127.0.0.1', port: own.address().port })
  own.close()
  for (const { name, to } of given.targets) await dial(name, to)
  for (const path of ['/usr/bin/env', '/etc/passwd', '/etc/hosts', '/proc/sys/kernel/core_pattern'])
    attempt('open ' + path + ' for writing', () => fs.closeSync(fs.openSync(path, fs.constants.O_WRONLY)))
  for (const path of ['/', '/usr', '/etc', '/dev', '/run'])
    attempt('change ' + path, () => fs.accessSync(path, fs.constants.W_OK))
  attempt('read ' + given.hidden, () => fs.readdirSync(given.hidden))
  attempt('signal a process of the host', () => process.kill(given.pid, 0))
  attempt('make a user namespace', () => {
    const made = spawnSync('unshare', ['--user', 'true'])
    if (made.error) throw made.error
    if (made.status !== 0) throw Object.assign(new Error(), { code: String(made.stderr).trim().split(': ').pop() })
  })
}
main()
`
