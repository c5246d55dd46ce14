import { acpBehaviour } from './acp-behaviour.ts'

const options = [
  { label: 'Red', description: 'warm' },
  { label: 'Blue', description: 'cold' },
]
const question = { question: 'Which colour?', header: 'Colour', multiSelect: false, options }

await acpBehaviour('claude', {
  asks: 'each call',
  form: `AskUserQuestion ${JSON.stringify({ questions: [question] })}`,
})
