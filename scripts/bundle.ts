/** Bundles gateway, worker and command line into `dist/`: what ships, and what starts faster than sources do. */
import { readFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const entries = {
  gateway: 'apps/gateway/src/main.ts',
  worker: 'apps/worker/src/main.ts',
  cli: 'apps/cli/src/main.ts',
}
/**
 * Other programs and threads are named by `new URL('….ts', import.meta.url)`; each becomes a file of its own. One in plain
 * JavaScript (`.mjs`) is for other places, a guest say, and goes along as it is.
 */
function ownFiles(names: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'own-files',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(root) || id.includes('/node_modules/')) return undefined
      return code.replace(
        /new URL\('(\.[^']+\.(?:ts|mjs))', import\.meta\.url\)/g,
        (_, path: string) => {
          const file = resolve(dirname(id), path)
          if (path.endsWith('.mjs')) {
            const fileName = basename(path)
            this.emitFile({ type: 'asset', fileName, source: readFileSync(file) })
            return `new URL('./${fileName}', import.meta.url)`
          }
          const name = names.get(file) ?? relative(root, file).replace(/\W+/g, '-')
          if (!names.has(file)) this.emitFile({ type: 'chunk', id: file, fileName: `${name}.js` })
          return `new URL('./${name}.js', import.meta.url)`
        },
      )
    },
  }
}

/**
 * The folder is emptied first. It must lie in this checkout: what cannot be bundled is looked for from there. `more` are
 * other programs over the same modules, each under the name that its file gets.
 */
export async function bundlePrograms(
  folder: string,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const all = Object.entries({ ...entries, ...more })
  const names = new Map(all.map(([name, file]) => [resolve(root, file), name]))
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    plugins: [ownFiles(names)],
    ssr: { noExternal: true, external: ['pg-native'] },
    build: {
      ssr: true,
      emitAssets: true,
      target: 'node24',
      outDir: folder,
      emptyOutDir: true,
      minify: true,
      rolldownOptions: {
        input: Object.fromEntries([...names].map(([file, name]) => [name, file])),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
      },
    },
  })
}

if (import.meta.main) {
  const folder = resolve(root, 'dist')
  await bundlePrograms(folder)
  for (const name of Object.keys(entries)) {
    const size = readFileSync(resolve(folder, `${name}.js`)).length
    console.log(`dist/${name}.js ${Math.round(size / 1024)} KiB`)
  }
}
