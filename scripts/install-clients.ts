/** Installs every real client the tests drive, and says which it could not. */
import { type ClientName, clients, findClient } from '../tests/clients/install-clients.ts'

for (const name of Object.keys(clients) as ClientName[]) {
  const { program } = await findClient(name)
  if (program) console.log(`${name} ${clients[name].version}: ${program}`)
}
