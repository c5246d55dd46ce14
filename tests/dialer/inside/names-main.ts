/** Plays every trick with names, and tells which did not end as it must. */
import { ScriptedNameServer } from '../../../apps/worker/src/testing/scripted-name-server.ts'
import { serverCertificate } from '../../../apps/worker/src/testing/server-certificate.ts'
import { nameTricks } from '../tricks/name-tricks.ts'
import { proxyTricks } from '../tricks/proxy-tricks.ts'
import { NamesWorld } from './names-world.ts'
import { Trap } from './trap.ts'

const certificate = serverCertificate('DNS:mcp.dev,DNS:other.dev,DNS:mcp.corp')
const trap = new Trap()
for (const port of [443, 8443]) await trap.listen(port, certificate)
const names = await ScriptedNameServer.start(() => undefined, 53)
const world = new NamesWorld(trap, names, certificate)
const problems: Record<string, string | null> = {}
for (const { what, play } of [...nameTricks, ...proxyTricks]) {
  try {
    await world.begin()
    await play(world)
    problems[what] = null
  } catch (thrown) {
    problems[what] = thrown instanceof Error ? `${thrown.message}\n${thrown.stack}` : String(thrown)
  }
}
await world.end()
await names.stop()
trap.close()
process.stdout.write(JSON.stringify(problems))
