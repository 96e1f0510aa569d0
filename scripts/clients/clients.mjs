// The `openai` package for Node against a running server.
//
//     node clients.mjs http://127.0.0.1:8080

import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const url = process.argv[2];
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "-", maxRetries: 0 });
const model = (await client.models.list()).data[0].id;
const Person = z.object({ name: z.string(), age: z.number().int() });
const messages = [{ role: "user", content: "Note about Vera Hale, is 41 years old." }];
const response_format = zodResponseFormat(Person, "person");

const parsed = await client.chat.completions.parse({ model, messages, temperature: 0, response_format });
console.log("ok: parse:", Person.parse(parsed.choices[0].message.parsed));

const stream = client.chat.completions.stream({ model, messages, temperature: 0, response_format });
let pieces = 0;
stream.on("content.delta", () => (pieces += 1));
const streamed = await stream.finalChatCompletion();
if (pieces < 2) throw new Error("the answer came in one piece");
console.log("ok: stream:", Person.parse(streamed.choices[0].message.parsed), `${pieces} pieces`);

const called = await client.chat.completions
  .runTools({
    model,
    messages: [{ role: "user", content: "Weather in Oslo?" }],
    temperature: 0,
    max_completion_tokens: 64,
    tool_choice: { type: "function", function: { name: "weather" } },
    tools: [
      {
        type: "function",
        function: {
          name: "weather",
          parse: JSON.parse,
          function: ({ city }) => `rain in ${city}`,
          parameters: {
            type: "object",
            properties: { city: { type: "string", enum: ["Oslo", "Ulm"] } },
            required: ["city"],
            additionalProperties: false,
          },
        },
      },
    ],
  })
  .finalFunctionToolCallResult();
if (!called.startsWith("rain in ")) throw new Error(`the tool said ${called}`);
console.log("ok: runTools:", called);

const response = await client.responses.create({ model, input: messages[0].content, max_output_tokens: 8 });
console.log("ok: responses:", response.status);
