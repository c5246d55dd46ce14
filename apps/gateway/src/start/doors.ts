/** Both listeners, bound before anything else is started so that a taken port is told at once; served when all is there. */
import type { RequestListener } from 'node:http'
import type { Destinations } from '@sallyport/core'
import { type Origin, SallyportError } from '@sallyport/protocol'
import { writeError } from '../api/write-answer.ts'
import { type Listener, listen } from './listeners.ts'
import type { UpOptions } from './options.ts'
import type { Undo } from './undo.ts'

export interface Doors {
  readonly control: Listener
  readonly guest: Listener
  serve(control: RequestListener, guest: RequestListener): void
}

export async function openDoors(options: UpOptions, undo: Undo): Promise<Doors> {
  let serveControl: RequestListener = sayStarting
  let serveGuest: RequestListener = refuseEarly
  const control = await listen(options, options.port, (req, res) => serveControl(req, res))
  undo.push(() => control.close(0))
  const guestPort = options.guestPort === 'next' ? control.port + 1 : options.guestPort
  const guest = await listen(options, guestPort, (req, res) => serveGuest(req, res))
  undo.push(() => guest.close(0))
  return {
    control,
    guest,
    serve: (forControl, forGuest) => {
      serveControl = forControl
      serveGuest = forGuest
    },
  }
}

const sayStarting: RequestListener = (_req, res) => {
  res.setHeader('retry-after', '1')
  writeError(res, new SallyportError('starting'))
}

const refuseEarly: RequestListener = (_req, res) => {
  res.writeHead(503, { 'retry-after': '1', 'content-length': 0 }).end()
}

/** Our own listeners are never a destination, under any spelling of this machine, nor what stands in front of them. */
export function destinationsBeside(
  { control, guest }: Doors,
  options: Pick<UpOptions, 'host' | 'publicUrl' | 'localUpstreams'>,
): Destinations {
  const ports = [control.port, guest.port]
  const isHere = ({ host }: Origin): boolean =>
    host === options.host || host === 'localhost' || host === '[::1]' || host.startsWith('127.')
  const front = options.publicUrl === undefined ? undefined : new URL(options.publicUrl)
  const frontPort = Number(front?.port || (front?.protocol === 'http:' ? 80 : 443))
  const isFront = ({ host, port }: Origin): boolean =>
    host === front?.hostname && port === frontPort
  return {
    localAllowed: options.localUpstreams,
    isOwn: (origin) => (isHere(origin) && ports.includes(origin.port)) || isFront(origin),
  }
}
