/** Starts whatever has a gate at its heart, with no descriptor but those planned, and waits until the gate holds. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Duplex, Readable, Writable } from 'node:stream'
import { SallyportError } from '@sallyport/protocol'
import type { GuestStdio } from '../sandbox.ts'
import { closingOthers, complaintDescriptor } from './closing-others.ts'
import { gateDescriptors, holding } from './gate.ts'

export interface GateSpawn {
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly stdio: GuestStdio
  readonly folder: string
  /** Read by the program from these descriptors, to their end. */
  readonly inputs: ReadonlyMap<number, string | Uint8Array>
  /** Written by the program to this descriptor. */
  readonly status: number | undefined
  /** Passed on as they are. */
  readonly passed: ReadonlyMap<number, number>
}

export interface HeldGate {
  readonly child: ChildProcess
  /** Both ways: the gate says that it holds, and hears that it may open. */
  readonly gate: Duplex
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** What came by the status descriptor until the gate held. */
  readonly status: string
}

const holdsWithinMs = 20_000
const longestComplaint = 4096

/** Rejects with `sandbox_failed`, whose cause is what was complained of; then it has ended. */
export async function spawnGate(spawned: GateSpawn): Promise<HeldGate> {
  const child = start(spawned)
  if (child.pid === undefined) {
    // It then may have no streams either, and nobody else hears why.
    const [cause] = await once(child, 'error')
    throw new SallyportError('sandbox_failed', { cause })
  }
  const streams = child.stdio as readonly (Duplex | null)[]
  for (const stream of streams) stream?.on('error', ignore)
  const gate = streams[gateDescriptors.gate] as Duplex
  const statusStream = spawned.status === undefined ? null : (streams[spawned.status] ?? null)
  const status = collect(statusStream)
  const gateSays = collect(gate)
  // It was written before, and may be read after.
  const isTold = (): boolean => statusStream === null || status() !== ''
  const complaint = collect(streams[complaintDescriptor])
  for (const [fd, data] of spawned.inputs) streams[fd]?.end(data)
  try {
    await untilHolding(child, [gate, statusStream], () => gateSays() === holding.trim() && isTold())
  } catch (cause) {
    await abandon(child)
    throw new SallyportError('sandbox_failed', { cause: complaint() || cause })
  }
  const { stdin, stdout, stderr } = child
  return { child, gate, stdin, stdout, stderr, status: status() }
}

function start({ words, environment, stdio, folder, ...spawned }: GateSpawn): ChildProcess {
  const { gate, stdin, stdout, stderr } = gateDescriptors
  const all = new Map<number, GuestStdio[number] | number>([
    ...stdio.entries(),
    [gate, 'pipe'],
    [complaintDescriptor, 'pipe'],
    ...[...spawned.inputs.keys()].map((fd) => [fd, 'pipe'] as const),
    ...(spawned.status === undefined ? [] : [[spawned.status, 'pipe'] as const]),
    ...spawned.passed,
  ])
  const last = Math.max(...all.keys())
  const list = Array.from({ length: last + 1 }, (_, fd) => all.get(fd) ?? 'ignore')
  const kept = new Set([...all.keys(), stdin, stdout, stderr])
  const [program = '', ...rest] = closingOthers([...kept], words)
  // In a session of its own: what a terminal does to its foreground group is passed on by us, and by nobody else.
  return spawn(program, rest, { cwd: folder, env: environment, stdio: list, detached: true })
}

/** `isHolding` is asked whenever one of the streams brought something. */
function untilHolding(
  child: ChildProcess,
  streams: readonly (Duplex | null)[],
  isHolding: () => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => end(new Error('the gate does not hold')), holdsWithinMs)
    const end = (error?: Error): void => {
      clearTimeout(late)
      child.off('exit', gone)
      for (const stream of streams) stream?.off('data', look)
      if (error) reject(error)
      else resolve()
    }
    const gone = (code: number | null, signal: string | null): void =>
      end(new Error(`ended with ${signal ?? code} before it was made`))
    const look = (): void => {
      if (isHolding()) end()
    }
    child.once('exit', gone)
    for (const stream of streams) stream?.on('data', look)
  })
}

/** What dies with the process dies by the kernel's hand, without us. */
export async function abandon(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

function collect(stream: Duplex | null | undefined): () => string {
  let text = ''
  stream?.on('data', (data: Buffer) => {
    if (text.length < longestComplaint) text += data.toString()
  })
  return () => text.trim()
}

/** What is written to a process that has ended is lost, which is told by its end. */
const ignore = (): void => undefined
