/** Records as lines of one stream of bytes: an inherited descriptor, or a device. */
import {
  type GatewayLine,
  lineReader,
  type RequestRecord,
  type ShimLine,
} from '@sallyport/protocol/shim'
import { parsed } from './incoming.ts'
import { lineLimit, nothing, now } from './link.ts'
import type { Carrier, CarrierEvents } from './record-link.ts'

export type Write = (text: string, then?: () => void) => void

/** Undefined when there is nobody at the other end now. An empty chunk is the end. */
export type OpenWire = (onBytes: (bytes: Buffer) => void) => Write | undefined

const askEveryMs = 15_000

export function streamCarrier(open: OpenWire, shim: string, on: CarrierEvents): Carrier {
  let write: Write | undefined
  let gateway: ReturnType<Carrier['gateway']>
  let heardAt = 0
  let askedAt = 0
  // Until the gateway's clock is known: bytes may lie in a device for long.
  const queue = new Map<string, RequestRecord>()
  const tell = (line: ShimLine): void => write?.(`${JSON.stringify(line)}\n`)
  const askGateway = (): void => {
    askedAt = now()
    tell({ ask: shim })
  }
  const hear = (line: GatewayLine): void => {
    heardAt = now()
    if ('to' in line && line.to === shim) {
      gateway = { ...line, aheadMs: line.at - heardAt }
      for (const [req, record] of queue) tell({ req, ...record, at: line.at })
      queue.clear()
    } else if ('read' in line) on.read(line.read)
    else if ('part' in line) on.answer(line.part, line, false)
    else if ('res' in line) on.answer(line.res, line, true)
  }
  const connect = (): void => {
    const onLine = (bytes: Buffer): void => hear(parsed(bytes.toString()) ?? {})
    const read = lineReader(lineLimit, onLine, nothing)
    write = open((bytes) => {
      if (bytes.length > 0) return read(bytes)
      write = undefined
      gateway = undefined
      on.changed()
    })
    // An empty line ends whatever another shim left unfinished.
    write?.('\n')
    askGateway()
  }
  return {
    readWithinMs: 5_000,
    pauseMs: () => 1_000,
    // Silence for long is an end, whatever became of the stream.
    gateway: () => (now() - heardAt < 3 * askEveryMs ? gateway : undefined),
    put: (id, record) => {
      if (!write) connect()
      if (gateway) tell({ req: id, ...record })
      else queue.set(id, record)
      return write !== undefined
    },
    takeBack: (id) => (queue.delete(id) ? 'unread' : 'unknown'),
    lost: (id) => tell({ cancel: id }),
    delivered: (id) => tell({ taken: id }),
    flush: (then) => (write ? write('', then) : then()),
    look: () => {
      if (now() - askedAt > askEveryMs) askGateway()
    },
  }
}
