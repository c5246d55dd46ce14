/** What stands on the shim's stdout, whatever is wrong: a harness that finds anything else there gives up on it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Shim } from './start-shim.ts'

test('every line of its output is JSON-RPC, while nobody answers it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-lines-'))
  const shim = new Shim({ args: ['--socket', join(folder, 'nobody.sock')] })
  try {
    shim.write('nonsense\n{}\n[]\n\n7\n{"jsonrpc":"2.0","id":\n')
    shim.write(Buffer.from([0xff, 0xfe, 0x0a]))
    const names = Array.from({ length: 50 }, (_, n) => `tool_${n}`)
    const asked = names.map((name) => shim.ask('tools/call', { name, arguments: {} }, name))
    for (const { result } of await Promise.all(asked)) expect(result.isError).toBe(true)
    shim.tell('notifications/cancelled', { requestId: 'tool_1' })
    await shim.kill()
    expect(shim.lines.length).toBeGreaterThanOrEqual(names.length)
    for (const message of shim.messages) {
      expect(message).toMatchObject({ jsonrpc: '2.0' })
      expect('result' in message || 'error' in message, JSON.stringify(message)).toBe(true)
    }
  } finally {
    await shim.kill()
    rmSync(folder, { recursive: true })
  }
})
