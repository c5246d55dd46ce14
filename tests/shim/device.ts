/**
 * A pseudo-terminal as a character device of a sandbox: `script` holds its other end, whose bytes go on to the gateway as
 * those of a virtual machine's port would.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'

export interface Device {
  readonly path: string
  end(): Promise<void>
}

/** `open` connects to the gateway; it is called again when that connection ends. */
export async function startDevice(open: () => Socket): Promise<Device> {
  // The shell says which terminal it is on, makes it raw, and holds it open.
  const command = 'tty; stty raw -echo; exec sleep 3600'
  const child = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', SHELL: '/bin/sh', TERM: 'dumb' },
  })
  const { stdout, stdin } = child
  const [first] = (await once(stdout, 'data')) as [Buffer]
  const path = first.toString('utf8').trim().split(/\s/)[0] as string
  let socket: Socket | undefined
  let isOver = false
  const attach = (): Socket => {
    const opened = open()
    opened.on('error', () => {})
    opened.on('data', (bytes) => stdin.write(bytes))
    opened.on('close', () => {
      if (socket === opened) socket = undefined
    })
    return opened
  }
  stdin.on('error', () => {})
  stdout.on('data', (bytes: Buffer) => {
    if (isOver) return
    socket ??= attach()
    socket.write(bytes)
  })
  return {
    path,
    end: async () => {
      isOver = true
      socket?.destroy()
      const gone = once(child, 'close')
      child.kill('SIGKILL')
      await gone
    },
  }
}
