/** The two streams of bytes that stand for a connection. Both stay open whatever is thought of the other end. */
import { constants, fstatSync, openSync, read, write } from 'node:fs'
import { Socket } from 'node:net'
import { end, nothing } from './link.ts'
import type { OpenWire, Write } from './stream-carrier.ts'

type OnBytes = (bytes: Buffer) => void

/** Inherited, so there is only this one: when it has ended, nothing is reached any more. */
export function descriptorWire(fd: number): OpenWire {
  let onBytes: OnBytes = nothing
  fstatSync(fd)
  let socket: Socket | undefined = new Socket({ fd, readable: true, writable: true })
  // What went wrong shows in its closing.
  socket
    .on('error', nothing)
    .on('data', (bytes: Buffer) => onBytes(bytes))
    .on('close', () => {
      socket = undefined
      onBytes(end)
    })
  return (listener) => {
    onBytes = listener
    return socket && ((text, then) => socket?.write(text, then))
  }
}

/** A character device is no socket: it is read by a thread that waits, and written one piece after the other. */
export async function deviceWire(path: string): Promise<OpenWire> {
  let onBytes: OnBytes = nothing
  const open = (): number => openSync(path, constants.O_RDWR | constants.O_NOCTTY)
  const begin = (): Write | undefined =>
    device(open(), (bytes) => {
      if (bytes.length === 0) send = undefined
      onBytes(bytes)
    })
  await makeRaw(open())
  let send = begin()
  return (listener) => {
    onBytes = listener
    try {
      send ??= begin()
    } catch {
      // In use by another, or gone: whoever asks again tries again.
    }
    return send
  }
}

/** A terminal line would echo, and wait for the ends of lines. */
async function makeRaw(fd: number): Promise<void> {
  const { isatty, ReadStream } = await import('node:tty')
  if (isatty(fd)) new ReadStream(fd).setRawMode(true).pause().unref()
}

function device(fd: number, onBytes: OnBytes): Write {
  const bytes = Buffer.allocUnsafe(65_536)
  const next = (): void =>
    read(fd, bytes, 0, bytes.length, null, (error, size) => {
      onBytes(error ? end : Buffer.from(bytes.subarray(0, size)))
      if (!error && size > 0) next()
    })
  next()
  let queue = end
  let isWriting = false
  let onFlushed: () => void = nothing
  const flush = (): void => {
    isWriting = queue.length > 0
    // An error of the device shows in its reading too.
    if (isWriting)
      write(fd, queue, 0, queue.length, null, (error, size) => {
        queue = error ? end : queue.subarray(size)
        flush()
      })
    else onFlushed()
  }
  return (text, then = nothing) => {
    queue = Buffer.concat([queue, Buffer.from(text)])
    onFlushed = then
    if (!isWriting) flush()
  }
}
