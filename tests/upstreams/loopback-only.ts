/**
 * Preloaded into a server that is not ours: it listens on a free port of the loopback address whatever it asks for,
 * tells the port to the process that started it, and ends with that process.
 */
import { type AddressInfo, Server } from 'node:net'

const listen = Server.prototype.listen

Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  this.once('listening', () => process.send?.({ port: (this.address() as AddressInfo).port }))
  const listening = args.find((arg): arg is () => void => typeof arg === 'function')
  return Reflect.apply(listen, this, [{ host: '127.0.0.1', port: 0 }, listening])
} as typeof listen

process.once('disconnect', () => process.exit())
