/** What holds for every real agent client. Each agent's own test says how it is started and what its model sees. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AnswerForm,
  agentTools,
  awkwardStructure,
  awkwardText,
  counterSays,
  jsonText,
} from './agent-tools.ts'
import { type AgentName, agents } from './agents.ts'
import type { Ended } from './client-run.ts'
import { callByName, type GovernedRun, startGovernedRun } from './governed-run.ts'
import type { Installed } from './install-clients.ts'
import { scanFiles, scanProcesses } from './procscan.ts'

/** Codex leaves bounds of numbers out of what it shows its model, so the limit is a list. */
const oneOrFive = { type: 'object', properties: { by: { enum: [1, 5] } } }

export function agentBehaviour(name: AgentName, installed: Installed): void {
  const { start, spell, sees } = agents[name]
  let run: GovernedRun
  beforeAll(async () => {
    if (installed.program === undefined) return
    run = await startGovernedRun({
      granted: ['counter_read', 'report', 'fails', 'rpc_error'],
      writes: [
        { tool: 'counter_add', mode: 'write_unattended', limits: { schema: oneOrFive } },
        { tool: 'say', mode: 'write_unattended' },
      ],
      withheld: ['echo'],
      tools: agentTools,
    })
  })
  afterAll(() => run?.remove())

  const agentTest = (title: string, body: (program: string) => Promise<void>): void => {
    test(title, async ({ skip }) => {
      const { program, reason } = installed
      if (program === undefined) return skip(reason)
      await body(program)
    }, 120_000)
  }

  async function follow(program: string, script: string): Promise<Ended> {
    const server = await run.openSession()
    const job = { prompt: `Do this:\n${script}`, modelUrl: run.model.url, server }
    const client = await start({ program, ...job })
    try {
      return await client.ended
    } finally {
      await client.remove()
    }
  }

  const calls = (tool: string) =>
    run.upstream.requests.filter(
      ({ method, text }) => method === 'tools/call' && JSON.parse(text).params.name === tool,
    )

  agentTest(
    'calls granted tools, and the model is told what the upstream said',
    async (program) => {
      const tools = ['counter_read', 'report', 'fails', 'rpc_error']
      const script = tools.map((tool) => `@call lab:${tool} {}`)
      const ended = await follow(program, script.join('\n'))
      const { counter } = run.upstream.state
      expect(run.model.results(), ended.stderr).toEqual([
        sees.text(counterSays(counter)),
        sees.textAndStructure('The report is in the structure.', { value: counter }),
        sees.error('The thing could not be done.'),
        sees.refusal(/no such thing/),
      ])
      for (const tool of tools) {
        expect(calls(tool).map(({ headers }) => headers.authorization)).toEqual([
          `Bearer ${run.credential}`,
        ])
      }
      const { items } = await run.sallyport.api('execution.list')
      const recorded = items.map(({ tool, state }) => [tool, state]).toSorted()
      expect(recorded).toEqual([
        ['counter_read', 'succeeded'],
        ['fails', 'tool_error'],
        ['report', 'succeeded'],
        ['rpc_error', 'tool_error'],
      ])
    },
  )

  const forms: Record<AnswerForm, unknown> = {
    text: sees.text(awkwardText),
    json_text: sees.jsonText(jsonText),
    structure: sees.structure(awkwardStructure),
    text_and_structure: sees.textAndStructure(awkwardText, awkwardStructure),
    error: sees.error(awkwardText),
    protocol_error: sees.refusal(/upstream_error.*No .*such.* thing\..*-32042/s),
  }

  agentTest('what a write answers arrives as the client passes it on', async (program) => {
    const effects = run.upstream.effects
    const wanted = Object.keys(forms)
    await follow(program, wanted.map((form) => `@call lab:say {"form":"${form}"}`).join('\n'))
    expect(run.model.results()).toEqual(Object.values(forms))
    expect(run.upstream.effects).toBe(effects + wanted.length)
  })

  agentTest(
    'a write acts once within its limits, and outside them is refused with the field',
    async (program) => {
      const effects = run.upstream.effects
      await follow(program, '@call lab:counter_add {"by":5}\n@call lab:counter_add {"by":6}')
      expect(run.upstream.effects).toBe(effects + 1)
      expect(run.model.results()).toEqual([
        sees.text(counterSays(run.upstream.state.counter)),
        sees.outsideSchema('by'),
      ])
      const { tools } = run.model.requests.at(-1)?.body ?? {}
      expect(JSON.stringify(tools)).toContain('"enum":[1,5]')
    },
  )

  agentTest(
    'a tool outside the grant is not offered and cannot be called by name',
    async (program) => {
      await follow(program, `@raw ${spell('echo')} {}`)
      expect(JSON.stringify(run.model.results())).toMatch(sees.unknownTool)
      await follow(program, '@call lab:echo {}')
      const requests = run.model.requests.map(({ body }) => body)
      const offered = JSON.stringify(requests.map(({ tools }) => tools))
      expect(offered).not.toContain('Says its arguments')
      expect(run.model.requests.at(-1)?.decision).toMatchObject({ kind: 'missing' })
      const server = await run.openSession()
      expect(await callByName(server, 'echo')).toMatchObject({ error: { code: -32602 } })
      expect(await callByName(server, 'counter_read')).not.toHaveProperty('error')
      expect(calls('echo')).toEqual([])
    },
  )

  agentTest(
    'while a call runs nobody before the upstream holds its credential',
    async (program) => {
      const { upstream, credential, sallyport } = run
      const server = await run.openSession()
      const before = upstream.count('tools/call')
      upstream.misbehave({ kind: 'hang' }, { tool: 'counter_read', times: 1 })
      const prompt = 'Do this:\n@call lab:counter_read {}'
      const client = await start({ program, prompt, modelUrl: run.model.url, server })
      try {
        await Promise.race([upstream.received('tools/call', before + 1), client.ended])
        const secrets = { credential, token: server.token }
        const findings = scanProcesses(client.pid, secrets)
        const places = findings.map(
          ({ secret, where, variable }) => `${secret} ${where} ${variable}`,
        )
        // The scan sees the session token where it must be, so it would see the credential too.
        expect(new Set(places)).toEqual(new Set(['token environ SALLYPORT_SESSION_TOKEN']))
        expect(scanProcesses(sallyport.pid, secrets)).toEqual([])
        upstream.answerHeld()
        await client.ended
        expect(run.model.results()).toEqual([sees.text(counterSays(upstream.state.counter))])
        expect(scanFiles(client.folder, secrets)).toEqual([])
        expect(scanFiles(sallyport.dataDir, secrets)).toEqual([])
        expect(JSON.stringify(run.model.requests)).not.toContain(credential)
        expect(sallyport.output()).not.toContain(credential)
        expect(sallyport.output()).not.toContain(server.token)
      } finally {
        upstream.answerHeld()
        await client.remove()
      }
    },
  )
}
