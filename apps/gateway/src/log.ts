import pino from 'pino'

/**
 * Warnings and worse, unless another level is asked for, into a descriptor or a file. One that takes no more (a terminal that
 * was hung up, a full disk) loses what is told, and ends nothing.
 */
export function openLog(dest: number | string, level = 'warn'): pino.Logger {
  const to = pino.destination({ dest, sync: true })
  to.on('error', () => undefined)
  return pino({ level, base: { pid: process.pid } }, to)
}
