/** The network of a process, from /proc/PID/net. */
import type { SandboxEvidence } from '@sallyport/protocol'
import { readProc, readProcIfThere } from './proc-file.ts'

export function readNetwork(pid: number): SandboxEvidence['network'] {
  const folder = `/proc/${pid}/net`
  const routes = linesOf(readProc(`${folder}/route`)).slice(1)
  // Where the kernel has no IPv6 there is no such file.
  const routes6 = linesOf(readProcIfThere(`${folder}/ipv6_route`) ?? '')
  return {
    interfaces: interfacesIn(readProc(`${folder}/dev`)),
    routes: routes.length + routes6.filter((line) => !/\slo$/.test(line)).length,
  }
}

/** Below two lines of heading. */
function interfacesIn(text: string): string[] {
  return linesOf(text)
    .slice(2)
    .map((line) => line.split(':')[0]?.trim() ?? '')
    .sort()
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '')
