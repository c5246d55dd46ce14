/** Writes `apps/shim/sallyport-shim.mjs`: one file that can be copied anywhere. It is committed; a test holds it against the sources. */
import { chmodSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'

const folder = fileURLToPath(new URL('../apps/shim', import.meta.url))

export async function bundleShim(): Promise<string> {
  const built = await build({
    configFile: false,
    root: folder,
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      write: false,
      target: 'node18',
      minify: true,
      rolldownOptions: { input: `${folder}/src/main.ts` },
    },
  })
  const [file, another] = (built as Rolldown.RolldownOutput).output
  if (another) throw new Error('the shim must be one file')
  return file.code
}

if (import.meta.main) {
  const text = await bundleShim()
  const file = `${folder}/sallyport-shim.mjs`
  writeFileSync(file, text)
  chmodSync(file, 0o755)
  console.log(`apps/shim/sallyport-shim.mjs ${Buffer.byteLength(text)} bytes`)
}
