/** Imported before anything else: an older Node must be told plainly, not by the first thing it cannot run. */
import { errors } from '@sallyport/protocol'

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `${JSON.stringify({ level: 'error', event: 'wrong_node', text: errors.wrong_node.text })}\n`,
  )
  process.exit(1)
}
