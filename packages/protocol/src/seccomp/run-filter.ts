/** Runs a filter as the kernel would, so that one for another machine can be judged here. */
export interface SystemCallInput {
  readonly architecture: number
  readonly number: number
  readonly arguments?: readonly number[]
}

export function runFilter(program: Uint8Array, input: SystemCallInput): number {
  const view = new DataView(program.buffer, program.byteOffset)
  const words = [input.number, input.architecture, 0, 0]
  for (let i = 0; i < 6; i++) words.push(input.arguments?.[i] ?? 0, 0)
  let accumulator = 0
  for (let at = 0; at < program.length; at += 8) {
    const code = view.getUint16(at, true)
    const k = view.getUint32(at + 4, true)
    if (code === 0x06) return k
    if (code === 0x20) accumulator = words[k / 4] ?? Number.NaN
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0
    else at += 8 * view.getUint8(at + (holds(code, accumulator, k) ? 2 : 3))
  }
  throw new Error('the filter ends without a verdict')
}

function holds(code: number, accumulator: number, k: number): boolean {
  switch (code) {
    case 0x15:
      return accumulator === k
    case 0x35:
      return accumulator >= k
    case 0x45:
      return (accumulator & k) !== 0
    default:
      throw new Error(`an instruction of code ${code}`)
  }
}
