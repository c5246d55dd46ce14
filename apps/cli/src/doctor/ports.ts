import { createServer } from 'node:net'
import type { RunningGateway } from '@sallyport/protocol/node'
import { type Check, fine, problem } from './finding.ts'
import { answersHealth } from './running.ts'

/** Where `up` listens unless told otherwise. */
const defaults = { url: 'http://127.0.0.1:7400', guestUrl: 'http://127.0.0.1:7401' }

/** Can `up` have its addresses? Those it had the last time, else the defaults. */
export async function checkPorts(last: RunningGateway | undefined): Promise<Check[]> {
  const { url, guestUrl } = last ?? defaults
  return [
    await checkPort('control-port', 'control', '--port', url),
    await checkPort('guest-port', 'guest', '--guest-port', guestUrl),
  ]
}

async function checkPort(id: string, whose: string, flag: string, url: string): Promise<Check> {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const code = await tryListening(host, Number(port))
  if (code === undefined) return fine(id, `The ${whose} address ${hostname}:${port} is free.`)
  const next = `Stop that program, or start with "sallyport up ${flag} N".`
  if (code !== 'EADDRINUSE')
    return problem(id, `The ${whose} address ${hostname}:${port} cannot be used (${code}).`, next)
  const by = (await answersHealth(url)) ? 'another Sallyport' : 'another program'
  return problem(id, `The ${whose} address ${hostname}:${port} is taken by ${by}.`, next)
}

/** The code of the error, or undefined when nothing stands in the way. */
function tryListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
