/** Classic BPF as the kernel reads it: eight bytes an instruction, judged by what it returns. */

export interface Instruction {
  readonly code: number
  /** Instructions to skip when the comparison holds, and when it does not. */
  readonly jt: number
  readonly jf: number
  readonly k: number
}

const codes = { load: 0x20, equal: 0x15, atLeast: 0x35, anyBit: 0x45, and: 0x54, return: 0x06 }

/** Where the input of a filter has what; arguments are 64 bits, of which the low half is looked at. */
export const offsets = {
  number: 0,
  architecture: 4,
  argument: (index: number): number => 16 + 8 * index,
} as const

/** What a filter may return. `refuse` makes the call fail with that errno. */
export const verdicts = {
  allow: 0x7fff0000,
  kill: 0x80000000,
  refuse: (errno: number): number => 0x00050000 | errno,
} as const

export const load = (offset: number): Instruction => plain(codes.load, offset)
export const mask = (bits: number): Instruction => plain(codes.and, bits)
export const giveBack = (verdict: number): Instruction => plain(codes.return, verdict)

/** The block is for when what was loaded is that value; else it is skipped. It may be up to 255 instructions long. */
export function whenEqual(value: number, block: readonly Instruction[]): readonly Instruction[] {
  return [branch(codes.equal, value, 0, block.length), ...block]
}

export function whenAtLeast(value: number, block: readonly Instruction[]): readonly Instruction[] {
  return [branch(codes.atLeast, value, 0, block.length), ...block]
}

export function whenAnyBit(bits: number, block: readonly Instruction[]): readonly Instruction[] {
  return [branch(codes.anyBit, bits, 0, block.length), ...block]
}

export function unlessEqual(value: number, block: readonly Instruction[]): readonly Instruction[] {
  return [branch(codes.equal, value, block.length, 0), ...block]
}

export function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    view.setUint16(index * 8, code, true)
    view.setUint8(index * 8 + 2, jt)
    view.setUint8(index * 8 + 3, jf)
    view.setUint32(index * 8 + 4, k, true)
  }
  return bytes
}

function plain(code: number, k: number): Instruction {
  return { code, jt: 0, jf: 0, k: k >>> 0 }
}

function branch(code: number, k: number, jt: number, jf: number): Instruction {
  if (jt > 255 || jf > 255) throw new TypeError('a block of more than 255 instructions')
  return { code, jt, jf, k: k >>> 0 }
}
