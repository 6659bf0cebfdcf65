"""A server with POST /v1/chat/completions for tests, on the loopback address: llm_server.py MODE FOLDER.

It answers as MODE says, writes its port to FOLDER/port and each request to FOLDER/requests, but for those that ask for
one word at the beginning, which go to FOLDER/greetings. What a model would say stands in FOLDER/answers, one JSON text a
line, the last again and again.
"""
import http.server
import json
import os
import sys
import threading
import time

mode, folder = sys.argv[1], sys.argv[2]
lock = threading.Lock()
count = 0


def next_answer():
    global count
    lines = open(os.path.join(folder, "answers")).read().splitlines() or ["{}"]
    line = lines[min(count, len(lines) - 1)]
    count += 1
    return line


# Modes whose fault shows at once.
FIRST = ("refuses", "redirect", "no_model", "no_completion", "under_path")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def complete(self, text, usage=None, finish="stop"):
        reply = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]}
        if usage != "none":
            reply["usage"] = usage or {"prompt_tokens": 1000, "completion_tokens": 100}
        self.reply(200, json.dumps(reply))

    def do_GET(self):
        with open(os.path.join(folder, "gets"), "a") as gets:
            gets.write(self.path + "\n")
        self.reply(200, "{}")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = json.loads(body)
        greets = len(request["messages"]) == 1
        with lock:
            with open(os.path.join(folder, "greetings" if greets else "requests"), "a") as requests:
                record = {"path": self.path, "authorization": self.headers.get("Authorization"), "body": request}
                requests.write(json.dumps(record) + "\n")
        if greets and mode not in FIRST:
            self.complete("ready")
        else:
            getattr(self, "answer_" + mode)(request)

    def answer_well(self, request):
        with lock:
            text = next_answer()
        self.complete(text)

    def answer_fenced(self, request):
        with lock:
            text = next_answer()
        self.complete("<think>{\"proposals\": 5}</think>Here it is:\n```json\n" + text + "\n```\nGood luck.", "none")

    def answer_no_schema(self, request):
        if "response_format" in request:
            self.reply(400, json.dumps({"error": {"message": "response_format is not supported"}}))
        elif "max_tokens" in request:
            self.reply(400, json.dumps({"error": {"message": "use max_completion_tokens instead"}}))
        else:
            self.answer_well(request)

    def answer_late(self, request):
        time.sleep(60)

    def answer_wrong(self, request):
        texts = ["no JSON at all", "{\"proposals\": 5}", "[" * 100000, "{\"proposals\": [5, {\"genome\": 7}, {}]}"]
        with lock:
            global count
            count += 1
            text = texts[(count - 1) % len(texts)]
        self.complete(text)

    def answer_refuses(self, request):
        self.reply(401, json.dumps({"error": {"message": "wrong key: " + str(self.headers.get("Authorization"))}}))

    def answer_no_model(self, request):
        self.reply(404, json.dumps({"error": {"message": "the model '" + request["model"] + "' does not exist"}}))

    def answer_no_completion(self, request):
        self.reply(200, json.dumps({"welcome": "to another service"}))

    def answer_under_path(self, request):
        """Knows one path alone, /api/v1/chat/completions."""
        if self.path == "/api/v1/chat/completions":
            self.answer_well(request)
        else:
            self.reply(404, "not found")

    def answer_busy(self, request):
        self.reply(429, json.dumps({"error": {"message": "too many requests"}}), [("Retry-After", "77")])

    def answer_huge(self, request):
        self.complete("x" * (600 << 10))

    def answer_endless(self, request):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        except OSError:
            pass

    def answer_trickle(self, request):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    def answer_redirect(self, request):
        self.reply(307, "", [("Location", open(os.path.join(folder, "location")).read())])

    def answer_malicious(self, request):
        """Sends back the key, drives the terminal, claims tokens, and proposes files and options of its own choice."""
        key = str(self.headers.get("Authorization")).replace("Bearer ", "")
        with lock:
            proposals = json.loads(next_answer())["proposals"]
        wild = [{**proposals[0], "note": "\x1b]0;owned\x07\x1b[31mred \u009b31m " + key,
                 "options": {"--evals": 1}, "exchange": 99, "files": {"toy/task.json": "{}"}},
                {"note": "escape", "slot": {"family": "../..", "gene": "x", "allele": "../../etc/passwd", "text": "x"},
                 "genome": proposals[0]["genome"]},
                {"note": "read", "source": "#include \"/etc/passwd\"\n", "plan": {"launches": [
                    {"kernel": "f", "grid": [1, 1, 1], "block": [1, 1, 1], "arguments": []}], "system": "rm"}},
                {"note": "patch", "patch": [{"file": "../../../etc/passwd", "find": "root", "replace": "x"}],
                 "genome": proposals[0]["genome"]},
                {"note": "patch", "patch": [{"file": "family.json", "find": "threads", "replace": "x"}],
                 "genome": proposals[0]["genome"]}]
        escaped = "".join("\\u%04x" % ord(c) for c in key)
        text = json.dumps({"reasoning": "KEY", "proposals": wild})
        reply = json.dumps({"choices": [{"message": {"content": text}}],
                            "usage": {"prompt_tokens": -5, "completion_tokens": 10**18}})
        self.reply(200, reply.replace("KEY", escaped), [("Set-Cookie", "a=b")])


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(os.path.join(folder, "port.new"), "w") as port:
    port.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
