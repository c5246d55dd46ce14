/** Server-sent events: the data of each as they come. Comments, names and ids say nothing to us. */
export function eventReader(onData: (data: string) => void): (bytes: Buffer) => void {
  const decoder = new TextDecoder()
  let rest = ''
  return (bytes) => {
    const events = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/)
    rest = events.pop() as string
    for (const event of events) {
      const data = [...event.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line)
      if (data.length > 0) onData(data.join('\n'))
    }
  }
}
