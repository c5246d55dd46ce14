import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { architectures, firstYounger, systemCalls } from './system-calls.ts'

const headers = {
  x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'],
  arm64: ['/usr/include/asm-generic/unistd.h'],
} as const

test.for(architectures)('%s: the numbers are those of the headers', (arch, { skip }) => {
  const path = headers[arch].find((one) => existsSync(one))
  if (path === undefined) return skip('no kernel headers on this machine')
  const text = readFileSync(path, 'utf8')
  for (const [name, numbers] of Object.entries(systemCalls)) {
    const defined = new RegExp(`^#define __NR(?:3264)?_${name}\\s+(\\d+)`, 'm').exec(text)?.[1]
    // Newer than the headers, or not on this architecture.
    if (defined === undefined) continue
    expect(Number(defined), name).toBe(numbers[arch])
  }
  expect(text).toMatch(/__NR_socketpair/)
})

test.each(architectures)(
  '%s: each call has a number of its own, below those that are younger',
  (arch) => {
    const numbers = Object.values(systemCalls)
      .map((one) => one[arch])
      .filter((number) => number !== null)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(Math.max(...numbers)).toBeLessThan(firstYounger)
  },
)
