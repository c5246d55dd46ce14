#!/usr/bin/env node
/** The inside end of Sallyport: MCP on stdin and stdout, and a way to the gateway. It holds nothing that matters. */
import { connect, type Socket } from 'node:net'
import { type FewHeaders, lineReader, release } from '@sallyport/protocol/shim'
import { readArguments, type Way } from './arguments.ts'
import { bridge } from './bridge.ts'
import { fail } from './fail.ts'
import { folderCarrier } from './folder-carrier.ts'
import { type HttpPlace, httpLink } from './http-link.ts'
import { end, type Link, lineLimit } from './link.ts'
import { harnessOut } from './out.ts'
import { tooLarge } from './own-answers.ts'
import { openRandom } from './random.ts'
import { recordLink } from './record-link.ts'
import { streamCarrier } from './stream-carrier.ts'
import { readToken } from './token.ts'
import { descriptorWire, deviceWire } from './wires.ts'

/** For answers that are on their way when the harness writes no more. */
const lastAnswersMs = 10_000
const lastWordsMs = 1_000

async function openLink(way: Way, path: string, random: () => string): Promise<Link> {
  const shim = random()
  if (way.kind === 'relay')
    return recordLink((on) => folderCarrier(way.path, random, on), shim, random)
  if (way.kind === 'fd' || way.kind === 'device') {
    const wire = way.kind === 'fd' ? descriptorWire(way.fd) : await deviceWire(way.path)
    return recordLink((on) => streamCarrier(wire, shim, on), shim, random)
  }
  let open = (): Socket => connect((way as { path: string }).path)
  let headers: FewHeaders = { host: 'localhost' }
  let connected: HttpPlace['connected'] = 'connect'
  if (way.kind === 'url') {
    const { hostname, host: name, port, protocol } = way.url
    const host = hostname.replace(/^\[|\]$/g, '')
    headers = { host: name, authorization: `Bearer ${readToken(way.tokenFrom)}` }
    open = () => connect(Number(port || 80), host)
    if (protocol === 'https:') {
      const tls = await import('node:tls')
      open = () => tls.connect(Number(port || 443), host, { servername: host })
      connected = 'secureConnect'
    }
  }
  return httpLink({ open, connected, headers, path }, shim, random)
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function main(args: string[]): Promise<void> {
  if (args[0] === '--version') return void process.stdout.write(`${release}\n`)
  const { way, path } = readArguments(args)
  const random = openRandom()
  const link = await openLink(way, path, random)
  const exit = async (code: number): Promise<void> => {
    await Promise.race([link.close(), after(lastWordsMs)])
    // A thread that waits for a device would keep an orderly exit waiting too.
    if (way.kind === 'device') process.kill(process.pid, 'SIGKILL')
    process.exit(code)
  }
  // Answers that were not told as delivered count as lost when we are gone.
  const out = harnessOut(() => void exit(1))
  const { take, idle } = bridge(link, out, path, random)
  const read = lineReader(lineLimit, take, () => out.write(tooLarge()))
  process.stdin
    .on('data', read)
    .on('error', () => void exit(1))
    .on('end', () => {
      read(end)
      void Promise.race([idle(), after(lastAnswersMs)]).then(() => exit(0))
    })
}

main(process.argv.slice(2)).catch(fail)
