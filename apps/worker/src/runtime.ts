/** Imported before anything else: an older Node must be told plainly, not by the first thing it cannot run. */
import { setFlagsFromString } from 'node:v8'
import { errors } from '@sallyport/protocol'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `${JSON.stringify({ level: 'error', event: 'wrong_node', text: errors.wrong_node.text })}\n`,
  )
  process.exit(1)
}

// V8 takes what lives as long as a call for what lives long, puts it among the old objects, and cleans up there late:
// without this the worker needs half as much memory again under load.
setFlagsFromString('--no-allocation-site-pretenuring')
