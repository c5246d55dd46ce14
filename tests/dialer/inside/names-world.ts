/** What tricks with names are played on: name servers, a server at every address, a proxy, and dialers. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Clock } from '../../../apps/worker/src/clock.ts'
import { Dialer, type DialerOptions } from '../../../apps/worker/src/dialer/dialer.ts'
import { requestDocument } from '../../../apps/worker/src/dialer/document.ts'
import type {
  ScriptedNameServer,
  Zone,
} from '../../../apps/worker/src/testing/scripted-name-server.ts'
import { ScriptedProxy } from '../../../apps/worker/src/testing/scripted-proxy.ts'
import type { ServerCertificate } from '../../../apps/worker/src/testing/server-certificate.ts'
import type { Hit, Trap } from './trap.ts'

export interface Trick {
  readonly what: string
  /** Throws when it did not end as it must, or its control did not. */
  play(world: NamesWorld): Promise<void>
}

export const open = '93.184.215.14'
const marker = '93.184.215.99'

/** A hundred times as fast: what waits for silence need not be waited for. */
const quick: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * 100,
  after: (ms, run) => {
    const timer = setTimeout(run, ms / 100)
    return () => clearTimeout(timer)
  },
}

export class NamesWorld {
  readonly #trap: Trap
  readonly #names: ScriptedNameServer
  readonly #certificate: ServerCertificate
  readonly #proxies: ScriptedProxy[] = []

  constructor(trap: Trap, names: ScriptedNameServer, certificate: ServerCertificate) {
    this.#trap = trap
    this.#names = names
    this.#certificate = certificate
  }

  /** What was asked of the name server since `begin`. */
  get asked(): readonly string[] {
    return this.#names.asked
  }

  set zone(zone: Zone) {
    this.#names.zone = zone
  }

  async begin(): Promise<void> {
    await this.arrived()
    this.#names.asked.length = 0
  }

  async end(): Promise<void> {
    for (const proxy of this.#proxies) await proxy.stop()
  }

  dialer(options: Partial<DialerOptions> = {}, isQuick = false): Dialer {
    return new Dialer({
      localAllowed: false,
      authorities: [this.#certificate.cert],
      ownListeners: new Map(),
      clock: isQuick ? quick : { ...quick, monotonic: () => performance.now(), after },
      ...options,
    })
  }

  async proxy(): Promise<ScriptedProxy> {
    const proxy = await ScriptedProxy.start(443)
    this.#proxies.push(proxy)
    return proxy
  }

  /** `answered`, or the code of the failure. */
  async fetch(url: string, dialer = this.dialer(), subject?: string): Promise<string> {
    try {
      const get = { method: 'GET', url, headers: {}, subject } as const
      await requestDocument(dialer, get, { maxBytes: 100, totalMs: 8_000 })
      return 'answered'
    } catch (thrown) {
      return String((thrown as { code?: string }).code ?? thrown)
    }
  }

  /** A client that looks first and then lets the system connect. Where it came out. */
  async lookThenConnect(name: string): Promise<string> {
    await lookup(name)
    const socket = connect({ host: name, port: 443 })
    await once(socket, 'connect')
    const { remoteAddress = '' } = socket
    socket.destroy()
    return remoteAddress
  }

  /** Where somebody came to since the last time, in order; what was dialled before this has arrived. */
  async arrived(): Promise<string[]> {
    for (const port of [443, 8443]) {
      const socket = connect({ host: marker, port })
      await once(socket, 'connect')
      socket.destroy()
    }
    const { hits } = this.#trap
    const isMark = ({ address }: Hit) => address === marker
    while (hits.filter(isMark).length < 2) await new Promise((resolve) => setImmediate(resolve))
    return hits
      .splice(0)
      .filter((hit) => !isMark(hit))
      .map(({ address }) => address)
  }
}

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
