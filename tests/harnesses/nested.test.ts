/** An agent program that brings a sandbox of its own, in one of ours that lets it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { findClient } from '../clients/install-clients.ts'
import { HarnessWorld, tool } from './harness-world.ts'

const { program, reason = '' } = await findClient('codex')

/** A place that only our sandbox lets it write to, and one that both do. */
const command = 'touch /workspace/made; touch /home/guest/made && echo written || echo kept'
const prompt = `Do this:\n@raw exec_command ${JSON.stringify({ cmd: command })}\n@call ${tool} {}`

if (program === undefined) test.skip(`codex: ${reason}`, () => undefined)
else
  await sandboxSuite(bubblewrap(), () =>
    describe('codex', () => {
      let world: HarnessWorld
      beforeAll(async () => {
        world = await HarnessWorld.start()
      })
      afterAll(() => world?.end())

      test.each([
        ['let nest, runs its commands in its own sandbox, and has its tools all the same', true],
        ['else has only ours around its commands', false],
      ] as const)(
        '%s',
        async (_title, isNested) => {
          const workspace = world.folder('workspace')
          const options = isNested ? ['--nested'] : []
          const { session, stderr } = await world.run('codex', program, {
            ...{ workspace, prompt, options },
          })
          const [said, counter] = (world.governed.model.results() ?? []).map((one) =>
            JSON.stringify(one),
          )
          expect(said, stderr).toContain(isNested ? 'kept' : 'written')
          expect(said).not.toContain(isNested ? 'written' : 'kept')
          expect(counter).toContain(world.counter())
          expect(existsSync(join(workspace, 'made'))).toBe(true)
          expect(session).toMatchObject({
            endReason: 'guest_ended',
            sandbox: { nesting: isNested },
          })
        },
        120_000,
      )
    }),
  )
