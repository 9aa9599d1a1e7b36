# docker build -t metric-learning-benchmark . && docker run metric-learning-benchmark
# Results and data are kept outside: docker run -v $PWD:/here metric-learning-benchmark python -m benchmark run main
FROM python:3.11-slim
COPY . /project
RUN pip install --no-cache-dir -c /project/constraints.txt '/project[dask]' && rm -r /project
WORKDIR /here
CMD ["python", "-m", "benchmark", "list"]
