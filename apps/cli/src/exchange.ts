/**
 * One HTTP exchange. Not `fetch`: a command that stays, as `run` does beside its guest, would carry nine megabytes of it. A
 * connection of its own each time: one that was kept may have been closed by the other side just now.
 */
import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { text } from 'node:stream/consumers'

export interface Exchange {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
}

/** Rejects with the error of the connection, or with the reason of the signal. Redirects are answers like others. */
export async function exchange(
  url: URL,
  { method, headers, body, signal }: Exchange,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    return await new Promise((resolve, reject) => {
      const begin = url.protocol === 'https:' ? overHttps : overHttp
      const request = begin(url, { method, headers, signal, agent: false }, (response) => {
        const { statusCode: status = 0 } = response
        text(response).then((read) => resolve({ status, text: read }), reject)
      })
      request.once('error', reject)
      request.end(body)
    })
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown
  }
}
