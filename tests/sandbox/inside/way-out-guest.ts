/** A guest that tries every way to reach somebody, and says of each what came of it, on a line of its own. */
import { z } from 'zod'

export interface WaysOut {
  /** Tried directly, by TCP and by UDP to the port of name servers. */
  readonly hosts: readonly string[]
  /** What CONNECT is asked for. */
  readonly tunnels: readonly string[]
  readonly abstractName: string
  /** Of the host, and bound to a datagram socket there; in the workspace, so that it can be seen. */
  readonly datagramPath: string
  /** CONNECT to this one is kept open until it is ended from elsewhere; then it is asked for again. */
  readonly kept?: string
}

const line = z.object({ way: z.string(), outcome: z.string() })

/** What became of each way: `reached`, or what refused it. */
export function outcomesIn(output: string): Record<string, string> {
  const lines = output.split('\n').filter(Boolean)
  return Object.fromEntries(
    lines.map((text) => {
      const { way, outcome } = line.parse(JSON.parse(text))
      return [way, outcome]
    }),
  )
}

export function wayOutProgram(ways: WaysOut): string {
  return `const given = ${JSON.stringify(ways)}\n${program}`
}

const program = `
const net = require('node:net'), dgram = require('node:dgram'), fs = require('node:fs'), http = require('node:http')
const { spawnSync } = require('node:child_process'), { lookup } = require('node:dns').promises
const say = (way, outcome) => fs.writeSync(1, JSON.stringify({ way, outcome }) + '\\n')
const dial = (way, to) => new Promise((resolve) => {
  const socket = net.connect(to)
  const end = (outcome) => { say(way, outcome); socket.destroy(); resolve() }
  socket.setTimeout(3000, () => end('timeout'))
  socket.on('connect', () => end('reached')).on('error', (e) => end(e.code))
})
const question = (way, host) => new Promise((resolve) => {
  const socket = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4')
  const end = (outcome) => { say(way, outcome); clearTimeout(late); socket.close(); resolve() }
  const late = setTimeout(() => end('timeout'), 500)
  socket.on('message', () => end('reached')).on('error', (e) => end(e.code))
  socket.send('question', 53, host, (e) => { if (e) end(e.code) })
})
const connect = (host, keep) => new Promise((resolve) => {
  const ask = http.request({ host: '127.0.0.1', port: 7422, method: 'CONNECT', path: host, agent: false })
  ask.on('error', (e) => resolve({ outcome: e.code }))
  const late = setTimeout(() => { ask.destroy(); resolve({ outcome: 'timeout' }) }, 8000)
  ask.on('connect', (answer, socket, head) => {
    clearTimeout(late)
    const end = (outcome) => { if (!keep) socket.destroy(); resolve({ outcome, socket }) }
    if (answer.statusCode === 200) return end('reached')
    let body = String(head)
    socket.on('data', (data) => { body += data }).on('end', () => end(JSON.parse(body).error.code))
  })
  ask.end()
})
const perl = (way, script, path) => {
  const { status } = spawnSync('perl', ['-e', script, path])
  say(way, status === 0 ? 'reached' : 'failed at ' + status)
}
const main = async () => {
  for (const host of given.hosts) {
    await dial('direct ' + host, { host, port: 443 })
    if (net.isIP(host)) await question('datagram ' + host, host)
    else await lookup(host).then(() => say('name ' + host, 'reached'), (e) => say('name ' + host, e.code))
  }
  await dial('abstract socket', { path: '\\0' + given.abstractName })
  perl('datagram by a socket pair', "use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) or exit 3;" +
    "connect($a, sockaddr_un($ARGV[0])) or exit 4; send($a, 'escaped', 0); exit 0", given.datagramPath)
  for (const host of given.tunnels) say('tunnel ' + host, (await connect(host)).outcome)
  if (given.kept) {
    const { outcome, socket } = await connect(given.kept, true)
    say('kept', outcome)
    socket.resume()
    await new Promise((resolve) => socket.on('close', resolve).on('error', () => {}))
    say('kept and cut', (await connect(given.kept)).outcome)
  }
}
main()
`
