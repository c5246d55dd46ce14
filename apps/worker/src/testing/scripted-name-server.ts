/** For tests: a name server that answers what it is told to, true or not, over UDP and TCP. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net'

export type Kind = 'A' | 'AAAA'

export interface DnsRecord {
  /** Left out: the name that was asked for. */
  readonly name?: string
  readonly type: Kind | 'CNAME'
  readonly value: string
}

export interface DnsAnswer {
  readonly records?: readonly DnsRecord[]
  /** 0 fine, 2 failed, 3 no such name, 5 refused. */
  readonly code?: number
  /** Over UDP nothing but the sign that there is more. */
  readonly truncated?: boolean
  /** Of another question than the one that was asked. */
  readonly strayed?: boolean
}

/** `times`: how often this was asked before. Undefined: no answer at all. */
export type Zone = (name: string, kind: Kind, times: number) => DnsAnswer | undefined

const codes = { A: 1, CNAME: 5, AAAA: 28 } as const

export class ScriptedNameServer {
  readonly asked: string[] = []
  zone: Zone
  readonly #udp: UdpSocket
  readonly #tcp: Server

  private constructor(zone: Zone, udp: UdpSocket, tcp: Server) {
    this.zone = zone
    this.#udp = udp
    this.#tcp = tcp
    udp.on('message', (message, from) => {
      const answer = this.#answer(message, true)
      if (answer) udp.send(answer, from.port, from.address)
    })
    tcp.on('connection', (socket) => {
      socket.on('error', () => {})
      socket.once('data', (chunk: Buffer) => {
        const answer = this.#answer(chunk.subarray(2), false)
        if (answer) socket.end(Buffer.concat([number16(answer.length), answer]))
      })
    })
  }

  static async start(zone: Zone, port = 0): Promise<ScriptedNameServer> {
    const tcp = createServer()
    tcp.listen(port, '127.0.0.1')
    await once(tcp, 'listening')
    const udp = createSocket('udp4')
    udp.bind((tcp.address() as AddressInfo).port, '127.0.0.1')
    await once(udp, 'listening')
    return new ScriptedNameServer(zone, udp, tcp)
  }

  /** As a resolver takes it. */
  get address(): string {
    return `127.0.0.1:${this.#udp.address().port}`
  }

  async stop(): Promise<void> {
    this.#udp.close()
    this.#tcp.close()
    await once(this.#tcp, 'close')
  }

  #answer(message: Buffer, isUdp: boolean): Buffer | undefined {
    const { name, type, end } = readQuestion(message)
    const kind = type === codes.AAAA ? 'AAAA' : 'A'
    const question = `${name} ${kind}`
    const times = this.asked.filter((one) => one === question).length
    this.asked.push(question)
    const answer = this.zone(name, kind, times)
    if (!answer) return undefined
    const isCut = answer.truncated === true && isUdp
    const records = isCut ? [] : (answer.records ?? [])
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (isCut ? 0x0200 : 0) | (answer.code ?? 0), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    const asked = answer.strayed
      ? Buffer.concat([encodeName('strayed.invalid'), message.subarray(end - 4, end)])
      : message.subarray(12, end)
    return Buffer.concat([head, asked, ...records.map((one) => encodeRecord(one, name))])
  }
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let at = 12
  while (message[at]) {
    const length = message[at] as number
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

function encodeRecord({ name, type, value }: DnsRecord, asked: string): Buffer {
  const data = type === 'CNAME' ? encodeName(value) : encodeAddress(value)
  const fixed = Buffer.concat([number16(codes[type]), number16(1), Buffer.alloc(4)])
  return Buffer.concat([encodeName(name ?? asked), fixed, number16(data.length), data])
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => {
    const bytes = Buffer.from(label, 'latin1')
    return Buffer.concat([Buffer.from([bytes.length]), bytes])
  })
  return Buffer.concat([...labels, Buffer.alloc(1)])
}

function encodeAddress(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number))
  const whole = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail = ''] = whole.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const missing = whole.includes('::') ? 8 - groups(head).length - groups(tail).length : 0
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)]
  return Buffer.concat(all.map((group) => number16(Number(`0x${group}`))))
}

function number16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
