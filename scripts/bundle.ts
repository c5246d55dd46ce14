/** Bundles gateway and worker into `dist/`: what ships, and what starts faster than sources do. */
import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const entries = { gateway: 'apps/gateway/src/main.ts', worker: 'apps/worker/src/main.ts' }
const names = new Map(Object.entries(entries).map(([name, file]) => [resolve(root, file), name]))

/** Other programs and threads are named by `new URL('….ts', import.meta.url)`; each becomes a file of its own. */
function ownFiles(): Plugin {
  return {
    name: 'own-files',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(root) || id.includes('/node_modules/')) return undefined
      return code.replace(/new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g, (_, path: string) => {
        const file = resolve(dirname(id), path)
        const name = names.get(file) ?? relative(root, file).replace(/\W+/g, '-')
        if (!names.has(file)) this.emitFile({ type: 'chunk', id: file, fileName: `${name}.js` })
        return `new URL('./${name}.js', import.meta.url)`
      })
    },
  }
}

await build({
  configFile: false,
  root,
  logLevel: 'warn',
  plugins: [ownFiles()],
  ssr: { noExternal: true, external: ['pg-native'] },
  build: {
    ssr: true,
    target: 'node24',
    outDir: 'dist',
    emptyOutDir: true,
    minify: true,
    rolldownOptions: {
      input: Object.fromEntries([...names].map(([file, name]) => [name, file])),
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    },
  },
})
for (const name of Object.keys(entries)) {
  const size = readFileSync(resolve(root, 'dist', `${name}.js`)).length
  console.log(`dist/${name}.js ${Math.round(size / 1024)} KiB`)
}
